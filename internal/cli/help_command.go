package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
)

// newHelp is "piton help"; cobra's own takes any word.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "explain a command, or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return exit.Usagef("there is no command or topic %q (see piton --help)", strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			found.InitDefaultVersionFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var words []string
			for _, sub := range found.Commands() {
				words = append(words, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// addCompletion adds cobra's commands that write completions, under piton's words.
func addCompletion(root *cobra.Command, out io.Writer) {
	root.SetOut(out) // cobra remembers where to as of here
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Short = "write the completion of a shell"
			cmd.Long = "Write a script to standard output for the shell to complete piton's commands, flags and values."
			cmd.Example = "  source <(piton completion bash)\n  piton completion fish > ~/.config/fish/completions/piton.fish"
			flags.NeedsCommand(cmd)
		}
	}
}
