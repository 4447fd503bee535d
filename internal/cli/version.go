package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/flags"
)

func newVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version",
		Long:    "Print the release, the commit it was built from where that is known, and the Go version, as --version does.",
		Example: "  piton version",
		GroupID: app.GroupLook,
		Args:    flags.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return printVersion(a) },
	}
}

// printVersion is --version too: cobra's own prints another line, or keeps every exported method
// of the program in the binary for a template.
func printVersion(a *app.App) error {
	_, err := fmt.Fprintln(a.Out, "piton", app.Version())
	return err
}
