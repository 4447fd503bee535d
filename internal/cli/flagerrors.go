package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/tunecmd"
)

// flagError is the sentence for a flag that is not known or not understood.
func flagError(a *app.App, cmd *cobra.Command, err error) error {
	if removed := asksForRemoved(cmd, cmd.Flags().Args()); removed != nil {
		return removed // the flag was that command's
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if unknown && a.ReadOnly && tunecmd.ChangeFlags().Lookup(name) != nil {
		return exit.Usagef("there is no flag --%s in read-only mode: it is for changes (--readonly, PITON_READONLY)", name)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalidValue(invalid)
	}
	return exit.Usagef("%w (see %s --help)", err, cmd.CommandPath())
}

// invalidValue says which flag does not take which value, and why: once.
func invalidValue(err *pflag.InvalidValueError) error {
	flag := err.GetFlag()
	why := err.Unwrap()
	var number *strconv.NumError
	switch {
	case errors.As(why, &number) && flag.Value.Type() == "bool":
		why = errors.New("it must be true or false")
	case strings.HasPrefix(why.Error(), "-"): // it names the flag itself
		return why
	}
	return fmt.Errorf("--%s %q: %w", flag.Name, err.GetValue(), why)
}

// noEmptyFlags refuses "" as the value of a flag of text: in a script it is a variable that
// is not set.
func noEmptyFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && isEmpty(f.Value) && !flags.Optional.Of(f) {
			value, _ := pflag.UnquoteUsage(f)
			err = exit.Usagef("--%s is empty: it needs %s", f.Name, value)
		}
	})
	return err
}

// isEmpty reports whether a flag of text was given none, or one of a list of texts
// nothing but commas.
func isEmpty(value pflag.Value) bool {
	list, ok := value.(pflag.SliceValue)
	if !ok {
		return value.Type() == "string" && value.String() == ""
	}
	return len(list.GetSlice()) == 0 || slices.ContainsFunc(list.GetSlice(), func(text string) bool { return strings.Trim(text, ", \t\r\n") == "" })
}
