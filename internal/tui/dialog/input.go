package dialog

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"piton/internal/tui/theme"
)

// Input is one line of text being typed.
type Input struct{ model textinput.Model }

// NewInput starts with a text and the cursor behind it.
func NewInput(text string) Input {
	m := textinput.New()
	m.Prompt = ""
	m.SetVirtualCursor(false) // the terminal's own is used
	m.SetStyles(textinput.Styles{})
	// ctrl+v would run a clipboard program on the server; what the terminal
	// pastes comes as a tea.PasteMsg.
	m.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	m.SetValue(text)
	m.CursorEnd()
	m.Focus()
	return Input{m}
}

// Update handles a key or a paste and reports whether the text changed.
func (i *Input) Update(msg tea.Msg) bool {
	before := i.Value()
	i.model, _ = i.model.Update(msg)
	return i.Value() != before
}

// Value is the text.
func (i *Input) Value() string { return i.model.Value() }

// Render draws the text, scrolled so that the cursor is in it, in at most width cells.
func (i *Input) Render(width int, th *theme.Theme) string {
	i.model.SetWidth(max(width-1, 1))     // one cell for the cursor behind the last letter
	i.model.SetCursor(i.model.Position()) // scrolls anew, which a change of width does not
	return th.Input.Render(ansi.Strip(i.model.View()))
}

// CursorX is the cursor's column in what Render drew.
func (i *Input) CursorX() int {
	if c := i.model.Cursor(); c != nil {
		return c.X
	}
	return 0
}
