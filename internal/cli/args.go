package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piton/internal/cli/flags"
)

// argsFor makes negative numbers values: in "nice 3641 -5" the -5 is no flag. For commands
// with the annotation flags.NegativeValues, words that are no flag are moved behind "--".
func argsFor(root *cobra.Command, args []string) []string {
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Annotations[flags.NegativeValues] == "" {
		return args
	}
	verb := args[:len(args)-len(rest)]
	if len(verb) == 0 || verb[len(verb)-1] != cmd.Name() {
		return args // flags stand before the verb; cobra sorts those out
	}
	var flags, words []string
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		if word == "--" {
			words = append(words, rest[i+1:]...)
			break
		}
		if !strings.HasPrefix(word, "-") || word == "-" || isNegative(word) {
			words = append(words, word)
			continue
		}
		flags = append(flags, word)
		if takesNext(cmd, word) && i+1 < len(rest) {
			i++
			flags = append(flags, rest[i])
		}
	}
	return append(append(append(append([]string{}, verb...), flags...), "--"), words...)
}

func isNegative(word string) bool {
	return len(word) > 1 && strings.Trim(word[1:], "0123456789") == ""
}

// takesNext reports whether the flag's value is the next word.
func takesNext(cmd *cobra.Command, word string) bool {
	if strings.Contains(word, "=") {
		return false
	}
	flag := lookupFlag(cmd, word)
	if flag == nil || flag.NoOptDefVal != "" {
		return false
	}
	return strings.HasPrefix(word, "--") || len(word) == 2 // -ojson has its value
}

func lookupFlag(cmd *cobra.Command, word string) *pflag.Flag {
	cmd.InheritedFlags() // adds those of the commands above
	if name, long := strings.CutPrefix(word, "--"); long {
		return cmd.Flags().Lookup(name)
	}
	return cmd.Flags().ShorthandLookup(word[1:2])
}
