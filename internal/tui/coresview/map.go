package coresview

import (
	"strings"
	"unicode/utf8"

	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

type mapper struct {
	layout
	th    *theme.Theme
	t     *model.MoveTable
	i, j  int   // the cell under the cursor
	at    []int // where the shown columns begin
	cells []glyph
	dst   []byte
}

// glyph is a cell of the line that is being drawn; 0 is blank.
type glyph struct {
	style theme.Style
	glyph rune
}

func (r *mapper) lines() []string {
	r.cells = make([]glyph, r.width)
	for k := r.cols.from; k < r.cols.to; k++ {
		r.at = append(r.at, r.spread(r.cols.from, k+1)-r.cell)
	}
	var out []string
	if r.heads == 2 {
		out = append(out, r.parents())
	}
	out = append(out, r.numbers())
	for i := r.rows.from; i < r.rows.to; i++ {
		if b := r.parts[i].before; i > r.rows.from && b >= r.dividers {
			out = append(out, r.divider(b))
		}
		out = append(out, r.row(i))
	}
	return out
}

func (r *mapper) x(j int) int { return r.at[j-r.cols.from] }

// put writes text whose runes are a cell wide each.
func (r *mapper) put(x int, style theme.Style, text string) {
	for _, c := range text {
		r.cells[x] = glyph{style, c}
		x++
	}
}

// line is what was put, and begins the next line. Texts of one style that follow each
// other are one run, and so are blanks within dim text, which look the same.
func (r *mapper) line() string {
	r.dst = r.dst[:0]
	var open theme.Style
	for _, c := range r.cells {
		if c.glyph == 0 {
			c.glyph = ' '
			if open == r.th.Dim {
				c.style = open
			}
		}
		if c.style != open {
			r.dst = c.style.Open(open.Close(r.dst))
			open = c.style
		}
		r.dst = utf8.AppendRune(r.dst, c.glyph)
	}
	clear(r.cells)
	r.dst = open.Close(r.dst)
	return string(r.dst)
}

// border draws what divides column j from the one before it.
func (r *mapper) border(j int) {
	if j > r.cols.from && r.parts[j].before == nodeBorder {
		r.put(r.x(j)-1, r.th.Dim, r.th.Vertical)
	}
}

// divider draws what divides two rows: a rule between nodes, blanks between caches.
func (r *mapper) divider(b border) string {
	if b != nodeBorder {
		return ""
	}
	r.put(r.gutter, r.th.Dim, strings.Repeat(r.th.Horizontal, r.width-r.gutter))
	for j := r.cols.from + 1; j < r.cols.to; j++ {
		if r.parts[j].before == nodeBorder {
			r.put(r.x(j)-1, r.th.Dim, r.th.Cross)
		}
	}
	return r.line()
}

// row draws the moves from group i: node and cache at the first of their rows, its label,
// and a cell for each column.
func (r *mapper) row(i int) string {
	if i == r.rows.from || r.parts[i].before != noBorder {
		r.put(1, r.th.Dim, r.shared(i))
	}
	style, own := r.th.Text, r.own(i)
	if i == r.i {
		style = r.th.Title
	}
	r.put(r.gutter-1-len(own), style, own)
	for j := r.cols.from; j < r.cols.to; j++ {
		r.border(j)
		r.cellAt(i, j)
	}
	return r.line()
}

// cellAt draws one cell: its shade, where there is room the figure, and the
// letter of its class. A CPU never moves a task to itself.
func (r *mapper) cellAt(i, j int) {
	th, x, count := r.th, r.x(j), r.t.Count(i, j)
	perS, class := r.t.PerS(uint64(count)), r.t.ClassOf(i, j)
	style, shade := th.Heat(heatStep(perS))
	letter := widget.DistanceStyle(th, class)
	if i == r.i && j == r.j {
		style, letter = th.Selected, th.Selected
		r.put(x, style, strings.Repeat(" ", r.cell))
	}
	if count == 0 && i == j && r.Level == model.ByCPU {
		shade = `\`
	}
	switch wide := r.cell >= figureCell; {
	case count == 0 && wide:
		r.put(x+r.cell-2, style, shade)
	case wide:
		figure := field.Rate(perS)
		r.put(x+1, style, shade)
		r.put(x+r.cell-1-len(figure), style, figure)
		r.put(x+r.cell-1, letter, widget.DistanceLetter(class))
	default:
		r.put(x+1, style, shade)
		if count > 0 {
			r.put(x, letter, widget.DistanceLetter(class))
		}
	}
}
