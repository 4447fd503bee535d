package dialog

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Prompt asks for a line of text on the last line of the screen: search, filter,
// PID. Its value is a string, given at every change so that the table can follow
// while one types.
type Prompt struct {
	label string
	input Input
	check func(string) error
	note  string // why the text cannot be used, or what the opener says of it
	bad   bool
	x     int
}

// NewPrompt asks label with a text to begin with. check, which may be nil, says
// what is wrong with a text; such a text is not accepted by Enter.
func NewPrompt(label, text string, check func(string) error) *Prompt {
	p := &Prompt{label: label, input: NewInput(text), check: check}
	p.recheck()
	return p
}

func (p *Prompt) bottomLine() {}

// Title is the label.
func (p *Prompt) Title() string { return p.label }

// SetNote shows a remark beside the text until it changes, "no match" say.
func (p *Prompt) SetNote(note string) {
	if !p.bad {
		p.note = note
	}
}

// Update edits the text.
func (p *Prompt) Update(msg tea.Msg) Outcome {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "esc", "ctrl+c", "ctrl+g":
			return canceled
		case "enter":
			if p.bad {
				return Outcome{}
			}
			return answered(p.input.Value())
		}
	}
	if !p.input.Update(msg) {
		return Outcome{}
	}
	p.recheck()
	return Outcome{Value: p.input.Value()}
}

func (p *Prompt) recheck() {
	p.note, p.bad = "", false
	if p.check == nil {
		return
	}
	if err := p.check(p.input.Value()); err != nil {
		p.note, p.bad = err.Error(), true
	}
}

// Render draws one line.
func (p *Prompt) Render(width, _ int, th *theme.Theme) string {
	label := " " + p.label + ": "
	p.x = widget.Width(label)
	room := max(width-p.x, 1)
	note := rows.Text(th, p.note)
	hint := th.Dim.Render(note)
	if p.bad {
		hint = th.Bad.Render(note)
	}
	keys := rows.Keys(th, "Enter", "keep", "Esc", "cancel").Render(th, 30)
	if hint != "" {
		keys = hint + "  " + keys
	}
	if short := hint; widget.Width(keys) > room*2/3 {
		if keys = short; widget.Width(keys) > room*2/3 {
			keys = widget.Fit(keys, room*2/3, th.Ellipsis)
		}
	}
	text := p.input.Render(room-widget.Width(keys)-1, th)
	return widget.Spread(th.Accent.Render(label)+text, keys, width, th.Ellipsis)
}

// Cursor is behind the text.
func (p *Prompt) Cursor() *tea.Cursor { return tea.NewCursor(p.x+p.input.CursorX(), 0) }
