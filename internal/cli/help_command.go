package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/cli/exit"
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
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var words []string
			for _, sub := range found.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), word) { // hidden are cobra's own, such as __complete
					words = append(words, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
