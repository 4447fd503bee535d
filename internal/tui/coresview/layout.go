package coresview

import (
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// cellWidths are those that a cell can have: figure and shade with more or fewer
// blanks, or class and shade with and without a blank.
var cellWidths = [...]int{11, 9, figureCell, 3, 2}

// figureCell is the least width of a cell with its figure.
const figureCell = 7

// layout is how the map stands in its window.
type layout struct {
	*division
	gutter   int // cells left of the map, with the row's name
	short    bool
	cell     int
	cols     visible
	rows     visible
	width    int    // of the map with its gutter
	heads    int    // lines of column headings
	dividers border // borders that get a line between rows: from this one up
}

type visible struct{ from, to int }

// plan lays the map out in width × height cells, headings included, around the
// cell i, j.
func plan(d *division, width, height, i, j int) layout {
	l := layout{division: d, short: width < 110, heads: 1, dividers: nodeBorder + 1}
	n, own := len(d.parts), 0
	for k := range n {
		l.gutter = max(l.gutter, len(l.shared(k)))
	}
	if l.gutter > 0 {
		l.heads = 2
		l.gutter++
	}
	for k := range n {
		own = max(own, len(l.own(k)))
	}
	l.gutter += own + 2
	for _, l.cell = range cellWidths {
		if l.spread(0, n) <= width {
			break
		}
	}
	l.cols = l.fitColumns(width, j)
	l.width = l.spread(l.cols.from, l.cols.to)
	l.fitRows(height-l.heads, i)
	return l
}

// shared is what the gutter says of a row before its label.
func (l *layout) shared(i int) string {
	if l.short {
		return l.parts[i].short
	}
	return l.parts[i].parent
}

// own is a row's label: its number alone where the gutter names the level.
func (l *layout) own(i int) string {
	if l.heads == 2 {
		return l.parts[i].number
	}
	return l.parts[i].name
}

func (l *layout) fits() bool {
	n := len(l.parts)
	return l.cols == visible{0, n} && l.rows == visible{0, n}
}

// spread is the width of the columns from..to and the gutter.
func (l *layout) spread(from, to int) int {
	w := l.gutter + (to-from)*l.cell
	for k := from + 1; k < to; k++ {
		if l.parts[k].before != noBorder {
			w++
		}
	}
	return w
}

func (l *layout) fitColumns(width, j int) visible {
	n := len(l.parts)
	if l.spread(0, n) <= width {
		return visible{0, n}
	}
	v := visible{j, j + 1}
	for {
		grown := v
		if grown.to < n && l.spread(grown.from, grown.to+1) <= width {
			grown.to++
		}
		if grown.from > 0 && l.spread(grown.from-1, grown.to) <= width {
			grown.from--
		}
		if grown == v {
			return v
		}
		v = grown
	}
}

// fitRows are the rows that fit around i, with lines between groups where there
// is room for them all.
func (l *layout) fitRows(height, i int) {
	n := len(l.parts)
	for least := llcBorder; least <= nodeBorder; least++ {
		lines := n
		for k := range n {
			if l.parts[k].before >= least {
				lines++
			}
		}
		if lines <= height {
			l.dividers, l.rows = least, visible{0, n}
			return
		}
	}
	height = max(min(height, n), 1)
	from := min(max(i-height/2, 0), n-height)
	l.rows = visible{from, from + height}
}

// parents names what runs of columns share.
func (r *mapper) parents() string {
	for k := r.cols.from; k < r.cols.to; {
		end := k + 1
		for end < r.cols.to && r.parts[end].before == noBorder {
			end++
		}
		style := r.th.Dim
		if r.j >= k && r.j < end {
			style = r.th.Title
		}
		for _, text := range []string{r.parts[k].parent, r.parts[k].short} {
			if len(text) < (end-k)*r.cell {
				r.put(r.x(k), style, text)
				break
			}
		}
		r.border(k)
		k = end
	}
	return r.line()
}

// numbers is a ruler of the columns: as many numbers as fit, and always that of
// the cursor.
func (r *mapper) numbers() string {
	corner := `from\to`
	if r.gutter <= len(corner) {
		corner = "to"
	}
	r.put(max(r.gutter-1-len(corner), 0), r.th.Dim, widget.Cut(corner, r.gutter-1, ""))
	r.number(r.j, r.th.Title)
	for k := r.cols.from; k < r.cols.to; k++ {
		r.number(k, r.th.Text)
	}
	return r.line()
}

// number puts a column's number above its figure's end, or at its beginning in narrow
// cells; never so that it would be cut or touch another.
func (r *mapper) number(k int, style theme.Style) {
	text, x := r.parts[k].number, r.x(k)
	if r.cell >= figureCell {
		x += r.cell - 1 - len(text)
	}
	x = min(x, r.width-len(text))
	for _, c := range r.cells[x-1 : min(x+len(text)+1, r.width)] {
		if c.glyph != 0 {
			return
		}
	}
	r.put(x, style, text)
}
