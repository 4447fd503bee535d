package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
)

// TestExamplesParse takes every line of the help's examples and of the blocks of
// commands in README and the help's pages as a shell would, and asks the commands whether they know
// its flags and take its words.
func TestExamplesParse(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for l := range strings.Lines(c.Example) {
			l = strings.TrimSpace(l)
			l, _, _ = strings.Cut(l, "    ") // what it does stands in a column of its own
			if inner, ok := strings.CutPrefix(l, "source <("); ok {
				l = strings.TrimSuffix(inner, ")")
			}
			assert.NoError(t, parses(l), "%s --help: %s", c.CommandPath(), l)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app.App{}))
	walk(newRoot(&app.App{ReadOnly: true}))

	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	calls := callsParse(t, "README.md", string(readme))
	for _, topic := range Topics() {
		page, err := Page(topic, false)
		require.NoError(t, err)
		calls += callsParse(t, topic, page)
	}
	assert.Greater(t, calls, 100, "README and the help show how piton is called")
}

// callsParse looks at the blocks and spans of code in a page, and returns how many call
// piton.
func callsParse(t *testing.T, name, page string) (calls int) {
	t.Helper()
	for i, block := range strings.Split(page, "```") {
		found := strings.Split(block, "\n")
		prose := i%2 == 0
		if prose { // with its spans of code
			found = nil
			for _, span := range code.FindAllStringSubmatch(block, -1) {
				found = append(found, span[1])
			}
		}
		for _, l := range found {
			if l, _, _ = strings.Cut(l, "  "); strings.HasPrefix(l, "piton") && !placeholder.MatchString(l) {
				calls++
				if prose && isCommand(l) {
					continue // it is named, not called
				}
				assert.NoError(t, parses(l), "%s: %s", name, l)
			}
		}
	}
	return calls
}

// placeholder is a word in whose place something else is to be written.
var placeholder = regexp.MustCompile(`\b(COMMAND|CPUS|LIST|TARGETS?|FILE|N)\b|…|\|`)

// isCommand reports whether the words are a command's name and nothing else.
func isCommand(l string) bool {
	cmd, rest, err := newRoot(&app.App{}).Find(strings.Fields(l)[1:])
	return err == nil && len(rest) == 0 && cmd.HasParent()
}

// parses reports what is wrong with the call of piton in a line of shell.
func parses(l string) error {
	words, err := shellWords(l)
	if err != nil {
		return err
	}
	start := slices.Index(words, "piton")
	if start < 0 {
		return fmt.Errorf("it does not call piton")
	}
	args := words[start+1:]
	a := &app.App{IO: app.IO{Args: args}}
	a.ReadOnly, _ = wantsReadOnly(a) // no environment is set
	root := newRoot(a)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	cmd, rest, err := root.Find(argsFor(root, args))
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// shellWords splits a line of shell up to a comment, pipe or redirection.
func shellWords(l string) (words []string, err error) {
	word, inWord, quote := "", false, rune(0)
	end := func() {
		if inWord {
			words = append(words, word)
		}
		word, inWord = "", false
	}
	for _, r := range l {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case unicode.IsSpace(r):
			end()
		case strings.ContainsRune("|<>&;", r), r == '#' && !inWord:
			end()
			return words, nil
		case strings.ContainsRune("*?[(", r):
			return nil, fmt.Errorf("%c wants quotes", r)
		default:
			word, inWord = word+string(r), true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	end()
	return words, nil
}
