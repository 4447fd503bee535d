package theme

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
)

func TestGlyphsAreOneCell(t *testing.T) {
	for name, g := range map[string]Glyphs{"unicode": unicodeGlyphs, "ascii": asciiGlyphs} {
		for _, list := range [][]string{g.Bar, g.Spark, g.Shade, {g.Blank, g.Cursor, g.Tag, g.Mark,
			g.SortDown, g.SortUp, g.Horizontal, g.Vertical, g.TopLeft, g.Cross, g.Dot, g.None, g.Ellipsis}} {
			for _, s := range list {
				assert.Equal(t, 1, ansi.StringWidth(s), "%s %q", name, s)
			}
		}
		for _, s := range []string{g.Checked, g.Part, g.Unchecked, g.Radio, g.RadioOff} {
			assert.Equal(t, 3, ansi.StringWidth(s), "%s %q", name, s)
		}
		assert.Len(t, g.Bar, 8, name)
		assert.Len(t, g.Spark, 8, name)
	}
}

func TestASCIIThemeUsesOnlyASCII(t *testing.T) {
	g := New(Options{ASCII: true}).Glyphs
	for _, s := range append(append(append([]string{g.Arrow, g.Times, g.None, g.Mark, g.Tag, g.AtLeast,
		g.TreeLast}, g.Bar...), g.Spark...), g.Shade...) {
		for _, r := range s {
			assert.Less(t, r, rune(128), "%q", s)
		}
	}
}

func TestMonoHasNoColour(t *testing.T) {
	th := New(Options{Depth: Mono})
	for _, s := range []Style{th.Text, th.Dim, th.Accent, th.Good, th.Warn, th.Bad, th.Selected, th.Tagged, th.Key,
		th.KeyLabel, th.Border, th.Load(1)} {
		assert.NotRegexp(t, `[34][0-7]`, s.Render("x"))
	}
	// Warnings and danger still differ from ordinary text and from each other.
	assert.NotEqual(t, th.Text, th.Warn)
	assert.NotEqual(t, th.Warn, th.Bad)
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name string
		wish Wish
		env  map[string]string
		want Options
	}{
		{"usual", Wish{}, map[string]string{"TERM": "xterm-256color", "LANG": "de_DE.UTF-8"}, Options{Depth: Colors256}},
		{"16 colours", Wish{}, map[string]string{"TERM": "linux", "LANG": "C.utf8"}, Options{Depth: Colors16}},
		{"NO_COLOR any value", Wish{}, map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8", "NO_COLOR": "yes"}, Options{}},
		{"flag", Wish{NoColor: true, ASCII: true}, map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}, Options{ASCII: true}},
		{"LC_ALL wins", Wish{}, map[string]string{"TERM": "xterm", "LC_ALL": "C", "LANG": "C.UTF-8"}, Options{Depth: Colors16, ASCII: true}},
		{"no locale", Wish{}, map[string]string{"TERM": "vt100"}, Options{ASCII: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Detect(tt.wish, func(k string) string { return tt.env[k] }))
		})
	}
}
