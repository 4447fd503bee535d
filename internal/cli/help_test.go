package cli

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/cmd/piton/help"
	"piton/internal/action"
	"piton/internal/cli/exit"
	"piton/internal/field"
	"piton/internal/tui"
)

// words is a text on one line, its blanks single: lines of the help are filled.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestTopics prints every topic, finds it in the list, and finds in the help of what is
// generated everything that the program has.
func TestTopics(t *testing.T) {
	h := newHome(t)
	list := h.run("help")
	out := map[string]string{}
	for _, name := range Topics() {
		assert.Contains(t, list.out, "  piton "+name)
		r := h.run("help", name)
		assert.Zero(t, r.code, r.err)
		assert.Empty(t, r.err)
		assert.NotContains(t, r.out, "```", name)
		assert.NotContains(t, r.out, "<!--", name)
		assert.Equal(t, r.out, h.run(name, "--help").out)
		out[name] = words(r.out)
	}
	for _, s := range tui.Specs(false) {
		if len(s.Keys) > 0 {
			assert.True(t, strings.Contains(out["keys"], s.ID), s.ID)
		}
	}
	for _, k := range action.Htop {
		assert.Contains(t, out["htop"], words(k.Label))
	}
	for i := range field.Columns {
		assert.Contains(t, out["columns"], field.Columns[i].ID)
	}
	for _, e := range exit.Codes {
		assert.Contains(t, out["exit-codes"], strconv.Itoa(e.Code)+" "+e.Meaning)
	}
	for _, s := range lineSchemas() {
		assert.Contains(t, out["json"], s.Name())
	}
	assert.Contains(t, out["filters"], "column op value")
	r := h.run("help", "nosuch")
	assert.Equal(t, exit.Usage, r.code)
	r = h.run("keys", "nosuch")
	assert.Equal(t, exit.Usage, r.code)
}

// TestHtopKeys is that each key of htop does the same on the screen, or has a hint.
func TestHtopKeys(t *testing.T) {
	verbs := tui.Specs(false)
	for i := range action.Htop {
		k := &action.Htop[i]
		for _, key := range k.Keys {
			s := processVerb(verbs, key)
			if k.Hint == "" && assert.NotNil(t, s, "%s does nothing and has no hint", key) {
				assert.Equal(t, k.ID, s.ID, "%s does something else and has no hint", key)
			}
		}
		known := k.ID == "" || slices.ContainsFunc(verbs, func(s action.Spec) bool { return s.ID == k.ID })
		assert.True(t, known, "%s: there is no action %s", k.Label, k.ID)
	}
}

// TestPages is that each page is a topic, and each topic a page with a heading.
func TestPages(t *testing.T) {
	entries, err := help.Pages.ReadDir(".")
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
		page, err := Page(names[len(names)-1], false)
		require.NoError(t, err)
		assert.Regexp(t, `^# .+\n\n`, page, e.Name())
	}
	assert.ElementsMatch(t, Topics(), names)
	_, err = fillPage("<!-- begin nothing -->\n<!-- end nothing -->\n", false)
	assert.Error(t, err)
}

// TestPageText lays out what the pages use of Markdown.
func TestPageText(t *testing.T) {
	for _, tt := range []struct{ page, want string }{
		{"# Head\n\none two\n`three` **four**\n", "Head\n\none two three\nfour\n"},
		{"a\n```\n  b --c\n```\nd", "a\n\n    b --c\n\nd\n"},
		{"- one two three four\n- [b](c.md)\n", "- one two three\n  four\n- b\n"},
		{"| a | b |\n|---|---|\n| `c\\|d` | e |\n", "a    b\n  c|d  e\n"},
		{"one two ab --keep-it", "one two ab\n--keep-it\n"},
		{"<!-- begin x -->\na\n<!-- end x -->\n", "a\n"},
	} {
		assert.Equal(t, tt.want, pageText(tt.page, 15), "%q", tt.page)
	}
	wide := "| a | b |\n|---|---|\n| one two three | four five six |\n"
	for l := range strings.Lines(pageText(wide, 20)) {
		assert.LessOrEqual(t, len(l), 21, l)
	}
}

// barred are words that ENGLISH.md replaces by the field's.
var barred = regexp.MustCompile(`(?i)\b(who bounces|what bounces|by turns|take[sn]? back|took back|deals? out|gives? way|gave way|lets? go|hush|culprits?)`)

// TestWordsOfTheHelp keeps barred words out of what the help prints.
func TestWordsOfTheHelp(t *testing.T) {
	h := newHome(t)
	for name := range commands {
		args := []string{"help", name}
		assert.NotRegexp(t, barred, h.run(args...).out, args)
	}
}
