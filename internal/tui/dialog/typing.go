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
	prompt *Prompt // nil while nothing is typed
	hint   string  // how it is written
	take   func(text string) error
	note   string // what is wrong with it, or why the last key did nothing
}

// begin starts with a text; take reads what it has become.
func (t *typing) begin(label, hint, text string, take func(text string) error) {
	t.prompt, t.hint, t.take = NewPrompt(label, text, nil), hint, take
}

// on reports whether a value is being typed.
func (t *typing) on() bool { return t.prompt != nil }

// Cursor is in the value that is being typed.
func (t *typing) Cursor() *tea.Cursor {
	if !t.on() {
		return nil
	}
	return t.prompt.Cursor()
}

// update handles a message.
func (t *typing) update(msg tea.Msg) Outcome {
	out := t.prompt.Update(msg)
	if text, ok := out.Value.(string); out.Done && ok {
		if err := t.take(strings.TrimSpace(text)); err != nil {
			t.note = err.Error()
			return Outcome{}
		}
	}
	if t.note = ""; out.Done {
		t.prompt = nil
	}
	return Outcome{}
}

// lines are the value being typed, with what is wrong with it below.
func (t *typing) lines(width int, th *theme.Theme) []string {
	style, text := th.Dim, t.hint
	if t.note != "" {
		style, text = th.Bad, t.note
	}
	return append([]string{t.prompt.Render(width, 1, th)}, rows.Indented(th, style, text, width-1)...)
}
