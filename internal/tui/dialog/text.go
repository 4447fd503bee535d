package dialog

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// scrolled is text of which a window is shown. The zero value is ready.
type scrolled struct {
	view  viewport.Model
	keyed bool // view has its keys
}

// key scrolls, and reports whether the key was one of scrolling. Letters count only
// where they are not typed as text.
func (s *scrolled) key(k tea.KeyPressMsg, letters bool) bool {
	if k.Text != "" && !letters {
		return false
	}
	if !s.keyed {
		s.view.KeyMap, s.keyed = textKeys(), true
	}
	m := s.view.KeyMap
	switch {
	case k.String() == "home" || k.String() == "g":
		s.view.GotoTop()
	case k.String() == "end" || k.String() == "G":
		s.view.GotoBottom()
	case key.Matches(k, m.Up, m.Down, m.PageUp, m.PageDown):
		s.view, _ = s.view.Update(k)
	default:
		return false
	}
	return true
}

// textKeys are the viewport's, but for letters that dialogs have other uses for.
func textKeys() viewport.KeyMap {
	m := viewport.KeyMap{Up: viewport.DefaultKeyMap().Up, Down: viewport.DefaultKeyMap().Down}
	m.PageUp = key.NewBinding(key.WithKeys("pgup"))
	m.PageDown = key.NewBinding(key.WithKeys("pgdown", "space"))
	return m
}

// body draws the window of lines, for rows.Stack.
func (s *scrolled) body(lines []string) func(height int) []string {
	return func(height int) []string {
		if len(lines) == 0 || height <= 0 {
			return nil
		}
		s.view.SetWidth(lipgloss.Width(strings.Join(lines, "\n")))
		s.view.SetHeight(min(height, len(lines)))
		s.view.SetContentLines(lines)
		return strings.Split(s.view.View(), "\n")
	}
}
