package dialog

import (
	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Pager shows lines that may be more than fit. It has no value, but a help has.
type Pager struct {
	Titled
	draw  func(width, height int, th *theme.Theme) []string
	finds bool // a letter is the value: what is looked for begins with it
	text  scrolled
	lines []string // as drawn for the size and th
	size  [2]int
	th    *theme.Theme
}

// NewPager shows what draw gives for a width, once.
func NewPager(title string, draw func(width int, th *theme.Theme) []string) *Pager {
	return &Pager{Titled: Titled(title), draw: func(width, _ int, th *theme.Theme) []string { return draw(width, th) }}
}

// NewText shows a text, wrapped.
func NewText(title string, text []string) *Pager {
	return NewPager(title, func(width int, th *theme.Theme) []string { return wrapped(text, width, th) })
}

func wrapped(text []string, width int, th *theme.Theme) (lines []string) {
	for _, l := range text {
		lines = append(lines, rows.Wrap(th, l, width)...)
	}
	return lines
}

// Update scrolls; any key that does not scroll closes.
func (p *Pager) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	switch {
	case !ok || p.text.key(k, !p.finds):
		return Outcome{}
	case p.finds && k.Text != "" && k.Text != " " && k.Text != "?" && k.Text != "q":
		return answered(k.Text)
	}
	return canceled
}

// Render draws the lines from the one scrolled to.
func (p *Pager) Render(width, height int, th *theme.Theme) string {
	foot := []string{"", rows.Keys(th, "up down PgUp PgDn", "scroll", "any other key", "closes").Render(th, width)}
	if p.finds { // it has as much to show as fits
		foot = []string{rows.Keys(th, "type", "to search", "up down", "scroll", "Esc", "close").Render(th, width)}
	}
	if p.size != [2]int{width, height} || p.th != th {
		p.lines, p.size, p.th = p.draw(width, height-len(foot), th), [2]int{width, height}, th
	}
	return rows.Stack(width, height, nil, len(p.lines), p.text.body(p.lines), foot)
}
