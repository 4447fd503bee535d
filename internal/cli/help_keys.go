package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
)

// newKeysHelp is "piton help keys", from the table that the screen obeys.
func newKeysHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "the keys of the screen",
		Long:  "The keys of the screen, where they work, and the command that does the same.\n\n" + keyList(),
	}
}

// keyList is every verb by group; README's list is made of it.
func keyList() string {
	var b strings.Builder
	for _, group := range action.Groups {
		fmt.Fprintf(&b, "%s\n", group)
		for i := range action.Specs {
			s := &action.Specs[i]
			if s.Group != group {
				continue
			}
			help := s.Help
			if !s.Works(action.Processes) {
				help += " (" + contexts(s) + ")"
			}
			if s.Verb != "" {
				help += " [piton " + s.Verb + "]"
			}
			fmt.Fprintf(&b, "  %-9s %s\n", s.Label, help)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func contexts(s *action.Spec) string {
	var words []string
	for _, c := range s.In {
		words = append(words, string(c))
	}
	return "in " + strings.Join(words, ", ")
}
