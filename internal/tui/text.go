package tui

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// textDialog shows text to scroll through.
type textDialog struct {
	title string
	text  []string
	list  rows.Scroll
}

// Title says what the text is.
func (d *textDialog) Title() string { return d.title }

// Cursor is hidden.
func (d *textDialog) Cursor() *tea.Cursor { return nil }

// textMost bounds how far a text can be scrolled before Render, which knows how
// it is wrapped, puts the window right.
const textMost = 1 << 20

// Update scrolls; any other key closes.
func (d *textDialog) Update(msg tea.Msg) dialog.Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || d.list.Key(k, textMost, true) {
		return dialog.Outcome{}
	}
	return dialog.Outcome{Done: true, Canceled: true}
}

// Render wraps the text.
func (d *textDialog) Render(width, height int, th *theme.Theme) string {
	var lines []string
	for _, l := range d.text {
		lines = append(lines, rows.Wrap(th, l, width)...)
	}
	body := func(room int) []string {
		from, to := d.list.Page(len(lines), room)
		return lines[from:to]
	}
	keys := rows.Keys(th, "up down PgUp PgDn", "scroll", "any other key", "closes")
	return rows.Stack(width, height, nil, len(lines), body, []string{"", keys.Render(th, width)})
}
