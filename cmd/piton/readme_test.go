package main_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
	"piton/internal/tui"
)

var update = flag.Bool("update", false, "rewrite the generated parts of README.md")

const readme = "../../README.md"

// generated are the parts of README.md that are made from the program, by the
// name in their markers.
var generated = map[string]func(*testing.T) string{
	"keys":       func(*testing.T) string { return keyTable() },
	"columns":    func(*testing.T) string { return columnTable() },
	"exit-codes": exitCodes,
}

// TestReadmeIsGenerated keeps what README.md says of keys, columns and exit
// codes equal to what the program does; with -update it rewrites them.
func TestReadmeIsGenerated(t *testing.T) {
	data, err := os.ReadFile(readme)
	require.NoError(t, err)
	text := string(data)
	for name, make := range generated {
		begin, end := fmt.Sprintf("<!-- begin %s -->\n", name), fmt.Sprintf("<!-- end %s -->\n", name)
		before, rest, ok := strings.Cut(text, begin)
		require.True(t, ok, "README.md has no %s", begin)
		now, after, ok := strings.Cut(rest, end)
		require.True(t, ok, "README.md has no %s", end)
		want := make(t)
		if !*update {
			assert.Equal(t, want, now, "README.md's %s: run `make generate`", name)
		}
		text = before + begin + want + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(readme, []byte(text), 0o644))
	}
}

func keyTable() string {
	var out strings.Builder
	for _, group := range tui.Groups {
		fmt.Fprintf(&out, "\n**%s**\n\n| keys | what they do |\n|---|---|\n", group)
		for _, s := range tui.Specs(false) {
			if s.Group != group || len(s.Keys) == 0 {
				continue
			}
			keys := strings.ReplaceAll(s.Label, "|", "\\|")
			help := strings.ReplaceAll(s.Help, "|", "\\|")
			if s.Verb != "" {
				help += fmt.Sprintf(" (`piton %s`)", s.Verb)
			}
			fmt.Fprintf(&out, "| %s | %s |\n", code(keys), help)
		}
	}
	return out.String() + "\n"
}

// code sets each key of a label as code.
func code(label string) string {
	var keys []string
	for _, k := range strings.Fields(label) {
		keys = append(keys, "`"+k+"`")
	}
	return strings.Join(keys, " ")
}

func columnTable() string {
	var out strings.Builder
	out.WriteString("\n| heading | id | what it is |\n|---|---|---|\n")
	for _, c := range field.Columns {
		fmt.Fprintf(&out, "| %s | `%s` | %s |\n", c.Title, c.ID, strings.ReplaceAll(c.Help, "|", "\\|"))
	}
	return out.String() + "\n"
}

// exitCodes is what piton --help says of them.
func exitCodes(t *testing.T) string {
	_, rest, ok := strings.Cut(output(t, binary, "--help"), "Exit codes:\n")
	require.True(t, ok)
	codes, _, ok := strings.Cut(rest, "\n\n")
	require.True(t, ok)
	return "\n```\n" + codes + "\n```\n\n"
}
