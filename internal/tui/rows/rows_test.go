package rows

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/tui/theme"
)

func TestRowRendersInItsWidth(t *testing.T) {
	th := theme.New(theme.Options{Depth: theme.Colors16})
	var r Row
	r.Left(th, th.Strong, "nqueens", 10)
	r.Right(th, th.Dim, "12", 4)
	r.Add(th.Text, " end")
	assert.Equal(t, 18, r.Width())
	assert.Equal(t, "nqueens     12 end", ansi.Strip(r.Render(th, 40)))
	assert.Equal(t, "nqueens     …", ansi.Strip(r.Render(th, 13)))
	assert.Equal(t, " nqueens     12 end", ansi.Strip(r.Item(th, 30, false)))
	assert.Equal(t, "▌nqueens     12 end ", ansi.Strip(r.Item(th, 20, true)))
	assert.Empty(t, r.Item(th, 0, true))
}

func TestColumnsCutAndPad(t *testing.T) {
	th := theme.New(theme.Options{ASCII: true})
	var r Row
	r.Left(th, th.Text, "abcdef", 4)
	r.Right(th, th.Text, "", 3)
	r.Add(th.Text, "→é")
	assert.Equal(t, "abc~   ->?", r.Render(th, 20))
}

func TestControlCharactersNeverReachTheTerminal(t *testing.T) {
	th := theme.New(theme.Options{})
	var r Row
	r.Add(th.Text, "evil\x1b]0;x\x07\n\xff\u009b")
	assert.Equal(t, "evil?]0;x? ??", r.Render(th, 80))
	assert.Equal(t, []string{"a?b"}, Wrap(th, "a\x1bb", 20))
}

func TestScrollKeepsTheCursorInTheWindow(t *testing.T) {
	var s Scroll
	press := func(keys ...rune) {
		for _, k := range keys {
			s.Key(tea.KeyPressMsg{Code: k, Text: string(k)}, 10, true)
		}
	}
	from, to := s.Window(10, 4)
	assert.Equal(t, [2]int{0, 4}, [2]int{from, to})
	press('j', 'j', 'j', 'j')
	from, to = s.Window(10, 4)
	assert.Equal(t, [2]int{1, 5}, [2]int{from, to})
	s.Key(tea.KeyPressMsg{Code: tea.KeyPgDown}, 10, false)
	assert.Equal(t, 7, s.Cursor)
	press('G', 'j')
	from, to = s.Window(10, 4)
	assert.Equal(t, [2]int{6, 10}, [2]int{from, to})
	assert.Equal(t, 9, s.Cursor)
	from, to = s.Window(3, 4)
	assert.Equal(t, [2]int{0, 3}, [2]int{from, to}, "the list shrank")
	s.Window(0, 4)
	assert.Equal(t, 0, s.Cursor)
	assert.False(t, s.Key(tea.KeyPressMsg{Code: 'j', Text: "j"}, 10, false), "a letter is text here")
}

func TestStackKeepsTheBody(t *testing.T) {
	body := func(h int) []string { return []string{"b1", "b2", "b3"}[:min(h, 3)] }
	head, foot := []string{"h1", "h2"}, []string{"f1", "f2"}
	assert.Equal(t, "h1\nh2\nb1\nb2\nb3\nf1\nf2", Stack(9, 7, head, 3, body, foot))
	assert.Equal(t, "h1\nh2\nb1\nb2\nb3", Stack(9, 5, head, 3, body, foot))
	assert.Equal(t, "b1\nb2\nb3", Stack(9, 3, head, 3, body, foot))
	assert.Equal(t, "b", Stack(1, 1, head, 3, body, foot))
	assert.Empty(t, Stack(9, 0, head, 3, body, foot))
}

func TestClip(t *testing.T) {
	assert.Equal(t, "ab\ncd", Clip("abc\ncde\nfgh", 2, 2))
	assert.Equal(t, "abc", Clip("abc", 5, 5))
	assert.Empty(t, Clip("abc", 5, 0))
}

func TestTextIsSpelledInASCII(t *testing.T) {
	ascii := theme.New(theme.Options{ASCII: true})
	assert.Equal(t, "0-7 -> 5, >= 3, +-2 us, ?", Text(ascii, "0-7 → 5, ≥ 3, ±2 µs, é"))
	assert.Equal(t, "0-7 → 5", Text(theme.New(theme.Options{}), "0-7 → 5"))
}

func TestKeysNameTheirActions(t *testing.T) {
	th := theme.New(theme.Options{Depth: theme.Colors16})
	keys := Keys(th, "Enter", "apply", "Esc", "cancel")
	assert.Equal(t, "Enter apply  Esc cancel", ansi.Strip(keys.Render(th, 80)))
	var r Row
	r.Drawn([]byte("\x1b[1mbar\x1b[m"))
	assert.Equal(t, th.Selected.Render("▌bar "), r.Item(th, 5, true), "a drawn piece loses its styles under the cursor")
}

func TestBodyCountsWhatIsOutOfSight(t *testing.T) {
	th, ascii := theme.New(theme.Options{}), theme.New(theme.Options{ASCII: true})
	row := func(i int, selected bool) string { return fmt.Sprint(i, selected) }
	s := Scroll{}
	last := func(th *theme.Theme, n, height int) string {
		lines := s.Body(th, n, row)(height)
		assert.Len(t, lines, min(n, height))
		return ansi.Strip(lines[len(lines)-1])
	}
	assert.Equal(t, " ↓ 17 more", last(th, 20, 4))
	s.Cursor = 10
	assert.Equal(t, " ↑ 8  ↓ 9 more", last(th, 20, 4))
	assert.Equal(t, " Up 8  Down 9 more", last(ascii, 20, 4))
	s.Cursor = 19
	assert.Equal(t, " ↑ 17 more", last(th, 20, 4))
	s.Cursor = 0
	assert.Equal(t, " ↓ 100 more", last(th, 103, 4))
	assert.Equal(t, "3 false", last(th, 4, 4), "all are in sight")
	assert.Equal(t, "0 true", last(th, 20, 1), "the cursor is worth more")
}
