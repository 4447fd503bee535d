package coresview

import (
	"piton/internal/model"
	"piton/internal/tui/widget"
)

// cellWidths are those that a cell can have: figure and shade with more or fewer
// blanks, or class and shade with and without a blank.
var cellWidths = [...]int{11, 9, figureCell, 3, 2}

// figureCell is the least width of a cell with its figure.
const figureCell = 7

// layout is how the map stands in its window.
type layout struct {
	g        *model.MoveGroups
	gutter   int // cells left of the map, with the row's name
	label    int // of those, for the group's own number
	short    bool
	cell     int
	cols     visible
	rows     visible
	width    int   // of the map with its gutter
	heads    int   // lines of column headings
	dividers uint8 // borders that get a line between rows, see border; from this one up
}

// visible is the part of the groups that the window shows.
type visible struct{ from, to int }

// plan lays the map out in width × height cells, headings included, around the
// cell i, j.
func plan(g *model.MoveGroups, width, height, i, j int) layout {
	l := layout{g: g, short: width < 110, heads: 1, dividers: uint8(nodeBorder) + 1}
	n := len(g.Groups)
	for k := range n {
		l.gutter = max(l.gutter, len(parent(g, k, l.short)))
	}
	if l.gutter > 0 {
		l.heads = 2
		l.gutter++
	}
	for k := range n {
		l.label = max(l.label, len(l.own(k)))
	}
	l.gutter += l.label + 2
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

// own is a row's label: its number alone where the gutter names the level.
func (l *layout) own(i int) string {
	if l.heads == 2 {
		return number(l.g, i)
	}
	return name(l.g, i)
}

// fits reports whether all of the map can be shown.
func (l *layout) fits() bool {
	n := len(l.g.Groups)
	return l.cols == visible{0, n} && l.rows == visible{0, n}
}

// spread is the width of the columns from..to and the gutter.
func (l *layout) spread(from, to int) int {
	w := l.gutter + (to-from)*l.cell
	for k := from + 1; k < to; k++ {
		if borderBefore(l.g, k) != noBorder {
			w++
		}
	}
	return w
}

// fitColumns are the columns that fit around j.
func (l *layout) fitColumns(width, j int) visible {
	n := len(l.g.Groups)
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
	n := len(l.g.Groups)
	for least := llcBorder; least <= nodeBorder; least++ {
		lines := n
		for k := range n {
			if borderBefore(l.g, k) >= least {
				lines++
			}
		}
		if lines <= height {
			l.dividers, l.rows = uint8(least), visible{0, n}
			return
		}
	}
	height = max(min(height, n), 1)
	from := min(max(i-height/2, 0), n-height)
	l.rows = visible{from, from + height}
}

// levelFor is the finest level whose map fits.
func (v *View) levelFor(width, height int) model.MoveLevel {
	levels := v.levels()
	for _, level := range levels {
		if l := plan(v.grouped(level), width, height, 0, 0); l.fits() {
			return level
		}
	}
	return levels[len(levels)-1]
}

// headings draws the lines above the columns.
func (r *mapper) headings() []string {
	var lines []string
	if r.heads == 2 {
		lines = append(lines, r.parents())
	}
	return append(lines, r.numbers())
}

// parents names what runs of columns share.
func (r *mapper) parents() string {
	r.dst = r.dst[:0]
	r.blank(r.gutter)
	for k := r.cols.from; k < r.cols.to; {
		end := k + 1
		for end < r.cols.to && borderBefore(r.g, end) == noBorder {
			end++
		}
		if k > r.cols.from {
			r.border(k)
		}
		width := (end - k) * r.cell
		text := parent(r.g, k, false)
		if len(text) >= width {
			text = parent(r.g, k, true)
		}
		if len(text) >= width {
			text = ""
		}
		style := r.th.Dim
		if r.j >= k && r.j < end {
			style = r.th.Title
		}
		r.put(style, text)
		r.blank(width - len(text))
		k = end
	}
	r.end()
	return string(r.dst)
}

// numbers is a ruler of the columns: as many numbers as fit, and always that of
// the cursor.
func (r *mapper) numbers() string {
	corner := "to"
	if r.gutter > len(`from\to`) {
		corner = `from\to`
	}
	r.dst = r.dst[:0]
	r.put(r.th.Dim, widget.FitRight(corner, r.gutter-1, ""))
	r.blank(1)
	at, free := r.gutter, r.gutter // where the column begins, and what is blank yet
	for k := r.cols.from; k < r.cols.to; k++ {
		if k > r.cols.from && borderBefore(r.g, k) != noBorder {
			at++
		}
		text := number(r.g, k)
		start := r.numberAt(at, len(text))
		own := k == r.j
		if start >= free && (own || !r.covers(k, start+len(text))) {
			style := r.th.Text
			if own {
				style = r.th.Title
			}
			r.blank(start - free)
			r.put(style, text)
			r.blank(1)
			free = start + len(text) + 1
		}
		at += r.cell
	}
	r.end()
	return widget.Fit(string(r.dst), r.width, "")
}

// numberAt is where a column's number begins: above its figure's end, or at its
// beginning in narrow cells; never so that it would be cut.
func (r *mapper) numberAt(column, length int) int {
	if r.cell >= figureCell {
		column += r.cell - 1 - length
	}
	return min(column, r.width-length)
}

// covers reports whether text up to end would leave no room for the cursor's
// number, in a column after k.
func (r *mapper) covers(k, end int) bool {
	if k >= r.j {
		return false
	}
	at := r.spread(r.cols.from, r.j)
	if borderBefore(r.g, r.j) != noBorder {
		at++
	}
	return end >= r.numberAt(at, len(number(r.g, r.j)))
}
