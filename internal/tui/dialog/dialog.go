// Package dialog holds the questions that piton asks over its screen: confirm,
// edit an affinity, pick a policy, a signal, a user, a column, type a filter.
//
// A dialog never changes the system. It turns key messages into an Outcome,
// and whoever opened it acts on that. Start at Dialog and Stack.
package dialog

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Dialog is one question. The Stack draws the frame and the title around it.
type Dialog interface {
	// Title is short and says what the answer will be used for.
	Title() string
	// Update takes keys, pastes and the dialog's own messages.
	Update(msg tea.Msg) Outcome
	// Render draws the content, at most width cells by height lines; both may be
	// as small as 1. It takes less where it needs less.
	Render(width, height int, th *theme.Theme) string
	// Cursor is where the terminal's cursor belongs, relative to the content of
	// the last Render; nil hides it.
	Cursor() *tea.Cursor
}

// Outcome is what a message did to a dialog.
type Outcome struct {
	Done     bool    // the dialog is answered and closes
	Canceled bool    // with Done: the user wants nothing to happen
	Expired  bool    // with Canceled: nobody answered before a countdown ended, or another dialog opened
	Value    any     // the answer, of the type the dialog's constructor names; a prompt gives its text at each key
	Cmd      tea.Cmd // to run, e.g. the next tick of a countdown
}

// Titled is what dialogs have in common that hide the terminal's cursor.
type Titled string

// Title is part of Dialog.
func (t Titled) Title() string { return string(t) }

// Cursor is part of Dialog.
func (t Titled) Cursor() *tea.Cursor { return nil }

// Answered calls f with an answer that is a T, and with none else.
func Answered[T any](f func(T) tea.Cmd) func(Outcome) tea.Cmd {
	return func(o Outcome) tea.Cmd {
		if v, ok := o.Value.(T); ok && o.Done && !o.Canceled {
			return f(v)
		}
		return nil
	}
}

// starter is a dialog that needs a command running from the beginning.
type starter interface{ Start() tea.Cmd }

// bottomLine is a dialog that is drawn over the last line of the screen, with
// no frame.
type bottomLine interface{ bottomLine() }

// noteOr is the last line of a dialog: why the last key did nothing, or else its keys.
func noteOr(note string, th *theme.Theme, width int, keys ...string) string {
	r := rows.Keys(th, keys...)
	if note != "" {
		r = nil
		r.Add(th.Bad, " "+note)
	}
	return r.Render(th, width)
}

var canceled = Outcome{Done: true, Canceled: true}

func answered(v any) Outcome { return Outcome{Done: true, Value: v} }
