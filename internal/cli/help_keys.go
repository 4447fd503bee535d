package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/tui"
)

// newKeysHelp is "piton help keys", from the table that the screen obeys.
func newKeysHelp(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "the keys of the screen",
		Long:  "The keys of the screen, where they work, and the command that does the same.\n\n" + keyList(tui.Specs(a.readonly)),
	}
}

// keyList is the verbs by group; README's list is made of it.
func keyList(verbs []action.Spec) string {
	var b strings.Builder
	for _, group := range tui.Groups {
		title := true
		for i := range verbs {
			s := &verbs[i]
			if s.Group != group || len(s.Keys) == 0 {
				continue
			}
			if title {
				fmt.Fprintf(&b, "%s\n", group)
				title = false
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
