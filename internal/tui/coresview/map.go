package coresview

import (
	"piton/internal/model"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// mapper draws the map once.
type mapper struct {
	layout
	th   *theme.Theme
	t    *model.MoveTable
	i, j int // the cell under the cursor
	dst  []byte
	open theme.Style // of the run that dst ends with
}

// lines draws headings and rows.
func (r *mapper) lines() []string {
	out := r.headings()
	for i := r.rows.from; i < r.rows.to; i++ {
		if b := borderBefore(r.g, i); i > r.rows.from && b != noBorder && uint8(b) >= r.dividers {
			out = append(out, r.divider(b))
		}
		out = append(out, r.row(i))
	}
	return out
}

// row draws the moves from group i.
func (r *mapper) row(i int) string {
	r.dst = r.dst[:0]
	r.name(i)
	for j := r.cols.from; j < r.cols.to; j++ {
		if j > r.cols.from {
			r.border(j)
		}
		r.cellAt(i, j)
	}
	r.end()
	return string(r.dst)
}

// put adds text in a style; texts of one style that follow each other are one
// run, which keeps the frame short.
func (r *mapper) put(style theme.Style, text string) {
	if style != r.open {
		r.end()
		r.dst = style.Open(r.dst)
		r.open = style
	}
	r.dst = append(r.dst, text...)
}

// blank adds n blanks, within a run of dim text too: they look the same.
func (r *mapper) blank(n int) {
	if r.open != r.th.Dim {
		r.end()
	}
	r.dst = widget.AppendSpaces(r.dst, n)
}

// end closes the run.
func (r *mapper) end() {
	r.dst = r.open.Close(r.dst)
	r.open = theme.Style{}
}

// name draws the row's gutter: node and cache at the first of their rows, and the
// row's label.
func (r *mapper) name(i int) {
	style := r.th.Text
	if i == r.i {
		style = r.th.Title
	}
	shared := ""
	if i == r.rows.from || borderBefore(r.g, i) != noBorder {
		shared = parent(r.g, i, r.short)
	}
	own := r.own(i)
	r.blank(1)
	r.put(r.th.Dim, shared)
	r.blank(r.gutter - 2 - len(shared) - len(own))
	r.put(style, own)
	r.blank(1)
}

// border draws what divides column j from the one before it.
func (r *mapper) border(j int) {
	switch borderBefore(r.g, j) {
	case nodeBorder:
		r.put(r.th.Dim, r.th.Vertical)
	case llcBorder:
		r.blank(1)
	}
}

// divider draws what divides two rows: a rule between nodes, blanks between caches.
func (r *mapper) divider(b border) string {
	if b != nodeBorder {
		return ""
	}
	r.dst = r.dst[:0]
	r.blank(r.gutter)
	for j := r.cols.from; j < r.cols.to; j++ {
		if between := borderBefore(r.g, j); j > r.cols.from && between == nodeBorder {
			r.put(r.th.Dim, r.th.Cross)
		} else if j > r.cols.from && between == llcBorder {
			r.put(r.th.Dim, r.th.Horizontal)
		}
		for range r.cell {
			r.put(r.th.Dim, r.th.Horizontal)
		}
	}
	r.end()
	return string(r.dst)
}

// cellAt draws one cell: its shade, where there is room the figure, and the
// letter of its class.
func (r *mapper) cellAt(i, j int) {
	th, count := r.th, r.t.Count(i, j)
	perS := r.t.PerS(uint64(count))
	class := r.t.ClassOf(i, j)
	style, shade := heat(th, heatStep(perS))
	letterStyle := widget.DistanceStyle(th, class)
	if i == r.i && j == r.j {
		r.end()
		style, letterStyle = th.Selected, th.Selected
	}
	if count == 0 {
		r.empty(style, shade, i == j && r.g.Level == model.ByCPU, i == r.i && j == r.j)
		return
	}
	if r.cell < figureCell {
		r.put(letterStyle, widget.DistanceLetter(class))
		r.put(style, shade)
		r.fill(style, r.cell-2)
		return
	}
	figure := rate(perS)
	r.fill(style, 1)
	r.put(style, shade)
	r.fill(style, r.cell-3-len(figure))
	r.put(style, figure)
	r.put(letterStyle, widget.DistanceLetter(class))
}

// empty draws a cell without moves, or one where there can be none.
func (r *mapper) empty(style theme.Style, shade string, never, selected bool) {
	if never {
		shade = `\`
	}
	if !selected {
		style = r.th.Dim
	}
	before, after := 1, r.cell-2
	if r.cell >= figureCell {
		before, after = r.cell-2, 1
	}
	r.fill(style, before)
	r.put(style, shade)
	r.fill(style, after)
}

// fill adds n blanks in a style, which shows in those of the selected cell.
func (r *mapper) fill(style theme.Style, n int) {
	if style == r.th.Selected {
		r.put(style, "           "[:n])
		return
	}
	r.blank(n)
}
