package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// typing is a value of a dialog that is typed on a line of its own, while the rest of the
// dialog waits.
type typing struct {
	label, hint string // what is typed; "" while nothing is
	input       Input
	take        func(text string) error
	note        string // what is wrong with it, or why the last key did nothing
}

// begin starts with a text; take reads what it has become.
func (t *typing) begin(label, hint, text string, take func(text string) error) {
	t.label, t.hint, t.take, t.input = label, hint, take, NewInput(text)
}

// on reports whether a value is being typed.
func (t *typing) on() bool { return t.label != "" }

// Cursor is in the value that is being typed.
func (t *typing) Cursor() *tea.Cursor {
	if !t.on() {
		return nil
	}
	return tea.NewCursor(len(t.label)+t.input.CursorX(), 0)
}

// update handles a message.
func (t *typing) update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && (k.String() == "esc" || k.String() == "ctrl+c"):
		t.label, t.note = "", ""
	case ok && k.String() == "enter":
		if err := t.take(strings.TrimSpace(t.input.Value())); err != nil {
			t.note = err.Error()
			break
		}
		t.label, t.note = "", ""
	case t.input.Update(msg):
		t.note = ""
	}
	return Outcome{}
}

// lines are the value being typed, with what is wrong with it below.
func (t *typing) lines(width int, th *theme.Theme) []string {
	out := []string{th.Accent.Render(t.label) + t.input.Render(width-len(t.label), th)}
	style, text := th.Dim, t.hint
	if t.note != "" {
		style, text = th.Bad, t.note
	}
	return append(out, rows.Indented(th, style, text, width-1)...)
}
