package dialog

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Pager shows lines that may be more than fit. It has no value.
type Pager struct {
	Titled
	draw  func(width int, th *theme.Theme) []string
	text  scrolled
	lines []string // as drawn for width and th
	width int
	th    *theme.Theme
}

// NewPager shows what draw gives for a width, once.
func NewPager(title string, draw func(width int, th *theme.Theme) []string) *Pager {
	return &Pager{Titled: Titled(title), draw: draw}
}

// NewText shows a text, wrapped.
func NewText(title string, text []string) *Pager {
	return NewPager(title, func(width int, th *theme.Theme) (lines []string) {
		for _, l := range text {
			lines = append(lines, rows.Wrap(th, l, width)...)
		}
		return lines
	})
}

// Update scrolls; any key that does not scroll closes.
func (p *Pager) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || p.text.key(k, true) {
		return Outcome{}
	}
	return canceled
}

// Render draws the lines from the one scrolled to.
func (p *Pager) Render(width, height int, th *theme.Theme) string {
	if p.width != width || p.th != th {
		p.lines, p.width, p.th = p.draw(width, th), width, th
	}
	keys := rows.Keys(th, "up down PgUp PgDn", "scroll", "any other key", "closes")
	return rows.Stack(width, height, nil, len(p.lines), p.text.body(p.lines), []string{"", keys.Render(th, width)})
}
