package output

import (
	"github.com/spf13/pflag"

	"piton/internal/cli/flags"
)

// The output formats.
const (
	AsTable = "table"
	AsJSON  = "json"
	AsCSV   = "csv"
)

// Format is the -o flag.
type Format struct{ flags.Choice }

// AddFlag adds -o with the formats that a command has; the first is the default.
func (o *Format) AddFlag(fs *pflag.FlagSet, formats ...string) {
	o.Choice = flags.Choice{Value: formats[0], Among: formats}
	fs.VarP(&o.Choice, "output", "o", "output format")
}

// JSON reports whether JSON lines are asked for.
func (o *Format) JSON() bool { return o.Value == AsJSON }
