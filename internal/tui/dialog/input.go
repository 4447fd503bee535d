package dialog

import (
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"piton/internal/tui/theme"
)

// input is one line of text being typed.
type input struct{ textinput.Model }

func newInput(text string) input {
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
	return input{m}
}

// update handles a key and reports whether the text changed.
func (i *input) update(msg tea.Msg) bool {
	before := i.Value()
	i.Model, _ = i.Model.Update(msg)
	return i.Value() != before
}

// render draws the text, scrolled so that the cursor is in it, in at most width cells.
func (i *input) render(width int, th *theme.Theme) string {
	i.SetWidth(max(width-1, 1)) // one cell for the cursor behind the last letter
	i.SetCursor(i.Position())   // scrolls anew, which a change of width does not
	return th.Input.Render(ansi.Strip(i.View()))
}

// cursorX is the cursor's column in what render drew.
func (i *input) cursorX() int {
	if c := i.Model.Cursor(); c != nil {
		return c.X
	}
	return 0
}
