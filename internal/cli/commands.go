package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// commands are piton's.
var commands = slices.Concat(tuneCommands(), profileCommands(), irqCommands(), watchCommands(), benchCommands(),
	[]maker{{"demo", newDemo}}, topicMakers())

// addCommands gives root its commands. Of a command line that begins with one it
// makes no other: all of them take half a millisecond, and scripts pin in a loop.
func (a *app) addCommands(root *cobra.Command) {
	if i := a.asked(); i >= 0 {
		root.AddCommand(commands[i].make(a))
		root.CompletionOptions.DisableDefaultCmd = true
		return
	}
	for _, c := range commands {
		root.AddCommand(c.make(a))
	}
	addCompletion(root, a.Out)
}

// asked is the index of the one command that the arguments need, -1 if they may
// need others: read-only mode names what it removes.
func (a *app) asked() int {
	if a.readonly || len(a.Args) == 0 {
		return -1
	}
	return slices.IndexFunc(commands, func(c maker) bool { return c.name == a.Args[0] })
}
