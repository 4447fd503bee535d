package meters

import (
	"cmp"
	"slices"
	"strings"

	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/tui/widget"
)

const (
	gap       = "   " // between two meters
	leastName = 12    // is left of a long host name beside the rest of the line
	tall      = 20    // lines from which chosen meters may have a second one, and from twice as many a third
)

type piece struct {
	*Meter
	forms []string // the shortest first
	form  int      // the one in use, -1 none
}

func (p *piece) text() string { return p.forms[p.form] }

// Header keeps the last rendering.
type Header struct {
	last  Input
	lines []string
}

// Render is the function Render; unchanged input returns the lines of the last call.
func (h *Header) Render(in Input) []string {
	if h.lines == nil || !same(&h.last, &in) {
		h.last, h.lines = in, Render(in)
	}
	return h.lines
}

func same(a, b *Input) bool {
	return a.Model == b.Model && a.Live == b.Live && a.Extra == b.Extra && a.Width == b.Width && a.Height == b.Height && a.Theme == b.Theme &&
		slices.Equal(a.Meters, b.Meters)
}

// Render returns the lines, each exactly in.Width wide. It is one, but for meters that
// the user chose: those that do not fit go on below where the screen is tall.
func Render(in Input) []string {
	th := in.Theme
	if in.Model == nil {
		return []string{widget.Fit(th.Dim.Render(" reading the machine "+th.Ellipsis), in.Width, th.Ellipsis)}
	}
	right := ""
	if in.Extra != "" {
		right = th.Warn.Render(in.Extra)
	}
	name := " " + th.Strong.Render(field.Clean(in.Model.Sample.Host.Name))
	pieces := group.Each(Chosen(in.Meters), func(m *Meter) piece { return piece{m, m.draw(&in), -1} })
	if most := min(1+in.Height/tall, 3); len(in.Meters) > 0 && most > 1 {
		if rows := wrapped(name, right, pieces, in.Width, most); len(rows) > 1 {
			return in.fitted(rows, right)
		}
	}
	end := ""
	if i := len(pieces) - 1; i > 0 && pieces[i].ID == "migrations" {
		// It closes the line, so that the figures before it stand still.
		end = pieces[i].forms[0]
		pieces = pieces[:i]
	}
	if right != "" && end != "" {
		right += "  "
	}
	right += end
	if least := min(widget.Width(name), leastName); least+1+widget.Width(right) >= in.Width {
		right = ""
		if in.Extra != "" {
			right = th.Warn.Render(widget.Cut(in.Extra, max(1, in.Width-least-2), th.Ellipsis))
		}
	}
	room := in.Width - 2 - widget.Width(right)
	name = widget.Cut(name, max(min(widget.Width(name), leastName), room), th.Ellipsis)
	fit(pieces, room-widget.Width(name))
	return in.fitted([]string{joined(name, pieces)}, right)
}

// fitted puts what stands at the right into the first line, and makes all as wide as the
// screen.
func (in *Input) fitted(rows []string, right string) []string {
	for i, row := range rows {
		if i == 0 {
			row = widget.Spread(row, right, in.Width-1, in.Theme.Ellipsis)
		}
		rows[i] = widget.Fit(row, in.Width, in.Theme.Ellipsis)
	}
	return rows
}

// fit chooses the forms of the pieces for room cells: those of the least rank come first,
// in their shortest form, and grow in the same order.
func fit(pieces []piece, room int) {
	order := make([]*piece, len(pieces))
	for i := range pieces {
		order[i] = &pieces[i]
	}
	slices.SortStableFunc(order, func(a, b *piece) int { return cmp.Compare(a.rank, b.rank) })
	for i, p := range order {
		if room -= len(gap) + widget.Width(p.forms[0]); room < 0 {
			room += len(gap) + widget.Width(p.forms[0])
			order = order[:i]
			break
		}
		p.form = 0
	}
	for grown := true; grown; { // a form at a time, so that none grows at the cost of the others
		grown = false
		for _, p := range order {
			if p.form+1 == len(p.forms) {
				continue
			}
			if more := widget.Width(p.forms[p.form+1]) - widget.Width(p.text()); more <= room {
				p.form++
				room, grown = room-more, true
			}
		}
	}
}

func joined(name string, pieces []piece) string {
	var b strings.Builder
	b.WriteString(name)
	for i := range pieces {
		if p := &pieces[i]; p.form >= 0 {
			b.WriteString(gap)
			b.WriteString(p.text())
		}
	}
	return b.String()
}

// wrapped breaks the pieces into lines, in their second form where they have one; what
// does not fit into most lines is left out.
func wrapped(name, right string, pieces []piece, width, most int) []string {
	rows, room := []string{name}, width-widget.Width(right)-2
	for i := range pieces {
		p := &pieces[i]
		text := p.forms[min(1, len(p.forms)-1)]
		last := len(rows) - 1
		if next := rows[last] + gap + text; widget.Width(next) <= room {
			rows[last] = next
			continue
		}
		if len(rows) == most {
			break
		}
		rows, room = append(rows, " "+text), width-1
	}
	return rows
}
