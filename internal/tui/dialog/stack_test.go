package dialog

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/tui/theme"
)

// numbers asks for one of two.
func numbers(title string) *Menu {
	return NewMenu(title, []Item{{Label: "4", Value: 4}, {Label: "5", Value: 5}}, 0)
}

func TestStackGivesTheAnswerToTheOpener(t *testing.T) {
	var s Stack
	var got []Outcome
	assert.True(t, s.Empty())
	s.Push(numbers("x"), func(o Outcome) tea.Cmd { got = append(got, o); return nil })
	s.Update(stroke("5"))
	assert.Empty(t, got)
	s.Update(stroke("enter"))
	assert.Equal(t, []Outcome{{Done: true, Value: 5}}, got)
	assert.True(t, s.Empty())
	assert.Nil(t, s.Update(stroke("enter")), "nobody is there")
}

func TestThePromptTellsEachChange(t *testing.T) {
	var s Stack
	var got []any
	s.Push(NewPrompt("search", "", nil), func(o Outcome) tea.Cmd { got = append(got, o.Value); return nil })
	for _, k := range []string{"n", "q", "backspace", "left", "enter"} {
		s.Update(stroke(k))
	}
	assert.Equal(t, []any{"n", "nq", "n", "n"}, got, "three changes and the answer")
}

func TestAnOpenerMayOpenTheNext(t *testing.T) {
	var s Stack
	s.Push(numbers("x"), func(Outcome) tea.Cmd { return s.Push(NewConfirm("sure?", nil, "yes", "no"), nil) })
	s.Update(stroke("enter"))
	require.False(t, s.Empty())
	assert.Equal(t, "sure?", s.Top().Title())
	press(s.Top(), "esc")
}

// A key that was typed for the table must not answer a question that appeared
// meanwhile.
func TestUnaskedDialogIsDeafUntilItsMessage(t *testing.T) {
	var s Stack
	var answers int
	cmd := s.PushUnasked(NewConfirm("keep?", nil, "keep", "revert"), func(Outcome) tea.Cmd { answers++; return nil })
	require.NotNil(t, cmd)
	s.Update(stroke("y"))
	s.Update(stroke("enter"))
	assert.Zero(t, answers)
	assert.NotContains(t, ansi.Strip(s.Top().Render(60, 9, plain)), "[y keep]", "what cannot be pressed does not look so")
	s.Update(listenMsg{NewConfirm("", nil, "", "")})
	s.Update(stroke("y"))
	assert.Zero(t, answers, "another dialog's message")
	s.Update(listenMsg{s.Top().(*Confirm)})
	assert.Contains(t, ansi.Strip(s.Top().Render(60, 9, plain)), "[y keep]")
	s.Update(stroke("y"))
	assert.Equal(t, 1, answers)
}

func TestCountdownSaysNoByItself(t *testing.T) {
	c := NewConfirm("keep?", nil, "keep", "reverted").Countdown(3e9)
	require.NotNil(t, c.Start())
	assert.Equal(t, Outcome{}, c.Update(secondMsg{NewConfirm("", nil, "", "")}))
	assert.Contains(t, ansi.Strip(c.Render(60, 10, plain)), "reverted in  3 s")
	assert.NotNil(t, c.Update(secondMsg{c}).Cmd)
	assert.NotNil(t, c.Update(secondMsg{c}).Cmd)
	assert.Equal(t, Outcome{Done: true, Canceled: true, Expired: true}, c.Update(secondMsg{c}))
}

func TestOverlayFitsEveryScreen(t *testing.T) {
	th := theme.New(theme.Options{Depth: theme.Colors16})
	for _, d := range everyDialog() {
		var s Stack
		s.Push(d, nil)
		for _, size := range [][2]int{{1, 1}, {3, 2}, {10, 3}, {20, 5}, {80, 24}, {200, 50}} {
			w, h := size[0], size[1]
			base := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", w)+"\n", h), "\n")
			lines := strings.Split(s.Overlay(base, w, h, th), "\n")
			assert.LessOrEqual(t, len(lines), h, d.Title())
			for _, l := range lines {
				assert.LessOrEqual(t, ansi.StringWidth(l), w, d.Title())
			}
			if c := s.Cursor(); c != nil {
				assert.True(t, c.X >= 0 && c.Y >= 0 && c.Y < h, "%s: cursor at %d,%d on %d×%d", d.Title(), c.X, c.Y, w, h)
			}
		}
		assert.Empty(t, s.Overlay("", 0, 0, th))
	}
}

func TestOverlayKeepsColumnsUnderWideCharacters(t *testing.T) {
	var s Stack
	s.Push(numbers("x"), nil)
	wide := strings.TrimSuffix(strings.Repeat(strings.Repeat("界", 40)+"\n", 24), "\n")
	for i, line := range strings.Split(s.Overlay(wide, 80, 24, plain), "\n") {
		assert.Equal(t, 80, ansi.StringWidth(line), "line %d", i)
	}
	s.Push(numbers("xy"), nil)
	odd := strings.TrimSuffix(strings.Repeat("a"+strings.Repeat("界", 39)+"b\n", 24), "\n")
	for i, line := range strings.Split(s.Overlay(odd, 80, 24, plain), "\n") {
		assert.Equal(t, 80, ansi.StringWidth(line), "line %d", i)
	}
}

func TestCursorFollowsTheText(t *testing.T) {
	var s Stack
	s.Push(NewPrompt("filter", "cpu=3", nil), nil)
	s.Overlay(strings.Repeat("\n", 23), 80, 24, plain)
	assert.Equal(t, tea.Position{X: len(" filter: cpu=3"), Y: 23}, s.Cursor().Position)
	s.Push(numbers("x"), nil)
	assert.Nil(t, s.Cursor())
}

func BenchmarkOverlay(b *testing.B) {
	th := theme.New(theme.Options{Depth: theme.Colors256})
	line := strings.Repeat(th.Good.Render("12345")+th.Dim.Render("67890"), 20)
	base := strings.TrimSuffix(strings.Repeat(line+"\n", 50), "\n")
	var s Stack
	s.Push(NewConfirmPlan("Apply?", samplePlan()), nil)
	for b.Loop() {
		s.Overlay(base, 200, 50, th)
	}
}
