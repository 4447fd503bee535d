package rows

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/theme"
)

// Scroll is a cursor in a list longer than its window.
type Scroll struct {
	Cursor int
	Top    int // first row in the window
	page   int // height of the last window
}

// Key moves the cursor over n rows and reports whether the key was one of
// movement. Letters (j k g G) count only where they are not typed as text.
func (s *Scroll) Key(msg tea.KeyPressMsg, n int, letters bool) bool {
	page := max(s.page-1, 1)
	switch key := msg.String(); {
	case key == "up" || letters && key == "k":
		s.Cursor--
	case key == "down" || letters && key == "j":
		s.Cursor++
	case key == "pgup":
		s.Cursor -= page
	case key == "pgdown":
		s.Cursor += page
	case key == "home" || letters && key == "g":
		s.Cursor = 0
	case key == "end" || letters && key == "G":
		s.Cursor = n - 1
	default:
		return false
	}
	s.Clamp(n)
	return true
}

// Clamp keeps the cursor on one of n rows.
func (s *Scroll) Clamp(n int) { s.Cursor = max(min(s.Cursor, n-1), 0) }

// Window moves the window of height rows so that the cursor is in it, and
// returns the rows from..to that it shows.
func (s *Scroll) Window(n, height int) (from, to int) {
	height = max(height, 0)
	s.page = height
	s.Clamp(n)
	s.Top = min(s.Top, s.Cursor)
	s.Top = max(s.Top, s.Cursor-height+1)
	s.Top = max(min(s.Top, n-height), 0)
	return s.Top, min(s.Top+height, n)
}

// noneUnseen leaves out of Body's sign the end where nothing is hidden.
var noneUnseen = strings.NewReplacer("↑ 0  ", "", "  ↓ 0 ", " ")

// Body draws the rows of a window, for Stack; row is told whether the cursor is on it. Where
// rows are out of sight, the last line counts them.
func (s *Scroll) Body(th *theme.Theme, n int, row func(i int, selected bool) string) func(height int) []string {
	return func(height int) []string {
		signed := n > height && height > 1
		if signed {
			height--
		}
		from, to := s.Window(n, height)
		out := make([]string, 0, to-from+1)
		for i := from; i < to; i++ {
			out = append(out, row(i, i == s.Cursor))
		}
		if signed {
			sign := noneUnseen.Replace(fmt.Sprintf(" ↑ %d  ↓ %d more", from, n-to))
			out = append(out, th.Dim.Render(Text(th, sign)))
		}
		return out
	}
}
