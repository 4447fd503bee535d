package dialog

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"

	"piton/internal/tui/theme"
)

func TestPagerScrollsAndDrawsAnewForAnotherTheme(t *testing.T) {
	drawn := 0
	p := NewPager("x", func(int, *theme.Theme) []string { drawn++; return []string{"one", "two", "three", "four"} })
	assert.Contains(t, p.Render(20, 4, plain), "one")
	p.Render(20, 4, plain)
	assert.Equal(t, 1, drawn)
	assert.Equal(t, Outcome{}, p.Update(stroke("space")))
	assert.NotContains(t, p.Render(20, 4, plain), "one")
	p.Render(20, 4, theme.New(theme.Options{ASCII: true}))
	assert.Equal(t, 2, drawn)
	assert.Equal(t, canceled, p.Update(stroke("x")))
}

func TestAnsweredTakesAnswersAlone(t *testing.T) {
	var got []int
	f := Answered(func(n int) tea.Cmd { got = append(got, n); return nil })
	f(canceled)
	f(Outcome{Value: 1}) // a value on the way
	f(answered("2"))
	f(answered(3))
	assert.Equal(t, []int{3}, got)
}
