package cli

import (
	"github.com/spf13/pflag"
)

// The output formats.
const (
	asTable = "table"
	asJSON  = "json"
	asCSV   = "csv"
)

// output is the -o flag.
type output struct{ choice }

func (o *output) addFlag(fs *pflag.FlagSet, formats ...string) {
	o.choice = choice{value: formats[0], among: formats}
	fs.VarP(&o.choice, "output", "o", "output format")
}

func (o *output) json() bool { return o.value == asJSON }
