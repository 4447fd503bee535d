package cli

import (
	"maps"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/autocmd"
	"piton/internal/cli/benchcmd"
	"piton/internal/cli/irqcmd"
	"piton/internal/cli/profilecmd"
	"piton/internal/cli/recordcmd"
	"piton/internal/cli/rulescmd"
	"piton/internal/cli/tunecmd"
	"piton/internal/cli/watchcmd"
)

// commands are piton's, of all packages of commands.
var commands = all(tunecmd.Commands(), autocmd.Commands(), profilecmd.Commands(), rulescmd.Commands(), irqcmd.Commands(),
	watchcmd.Commands(), recordcmd.Commands(), benchcmd.Commands(),
	app.Commands{"demo": newDemo, "schema": newSchema, "version": newVersion}, topicCommands())

func all(packages ...app.Commands) app.Commands {
	out := app.Commands{}
	for _, p := range packages {
		maps.Copy(out, p)
	}
	return out
}

// addCommands gives root its commands: only the one that the command line begins with,
// since scripts pin in a loop. Read-only mode needs all, to name what it removes.
func addCommands(a *app.App, root *cobra.Command) {
	if len(a.Args) > 0 && !a.ReadOnly {
		if newCommand, ok := commands[a.Args[0]]; ok {
			root.AddCommand(newCommand(a))
			root.CompletionOptions.DisableDefaultCmd = true
			return
		}
	}
	for _, newCommand := range commands {
		root.AddCommand(newCommand(a))
	}
	addCompletion(root, a)
	if completing(a) {
		addValues(root)
	}
}
