package benchview

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Pager shows lines that may be more than fit. It has no value.
type Pager struct {
	title string
	draw  func(width int) []string
	list  rows.Scroll
	lines []string // as drawn for width
	width int
}

// NewPager shows what draw gives for a width.
func NewPager(title string, draw func(width int) []string) *Pager {
	return &Pager{title: title, draw: draw}
}

// inASCII has the marks of pictures for terminals that have ASCII alone.
var inASCII = strings.NewReplacer("█", "#", "▓", "%", "▒", "+", "░", ":", "╷", "|", "▇", "#", "▆", "#", "▅", "+", "▄", "+", "▃", "-", "▂", "-", "▁", "_")

// Title is what is shown.
func (p *Pager) Title() string { return p.title }

// Cursor is hidden.
func (p *Pager) Cursor() *tea.Cursor { return nil }

// Update scrolls; any key that does not scroll closes.
func (p *Pager) Update(msg tea.Msg) dialog.Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || p.list.Key(k, max(len(p.lines), 1), true) {
		return dialog.Outcome{}
	}
	if k.String() == "space" {
		p.list.Key(tea.KeyPressMsg{Code: tea.KeyPgDown}, max(len(p.lines), 1), false)
		return dialog.Outcome{}
	}
	return dialog.Outcome{Done: true, Canceled: true}
}

// Render draws the lines from the one scrolled to.
func (p *Pager) Render(width, height int, th *theme.Theme) string {
	if p.width != width || p.lines == nil {
		p.lines, p.width = p.draw(width), width
	}
	body := func(room int) []string {
		from, to := p.list.Page(len(p.lines), room)
		var lines []string
		for _, l := range p.lines[from:to] {
			if th.ASCII {
				l = inASCII.Replace(l)
			}
			var r rows.Row
			r.Add(th.Text, l)
			lines = append(lines, r.Render(th, width))
		}
		return lines
	}
	keys := rows.Keys(th, "up down PgUp PgDn", "scroll", "any other key", "closes")
	return rows.Stack(width, height, nil, len(p.lines), body, []string{"", keys.Render(th, width)})
}
