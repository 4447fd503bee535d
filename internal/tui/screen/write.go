package screen

import (
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// So many blanks are erased rather than written, within a line and to its end.
const (
	eraseFrom   = 8
	eraseToEdge = 4
)

// write writes pieces and returns those that the renderer has to write. A style is
// kept from piece to piece. The renderer is not told; see note.
func (t *terminal) write(all []piece) (rest []piece) {
	var pen uv.Style
	for _, p := range all {
		cells := t.next.Line(p.y)[p.from:p.to]
		if !simple(cells) || !t.modern && (p.to == t.width || blanks(cells) >= eraseFrom) {
			rest = append(rest, p)
			continue
		}
		pen = t.writePiece(p, cells, pen)
		t.put(p)
		t.stale = true
	}
	if !pen.IsZero() {
		_, _ = t.cells.WriteString(ansi.ResetStyle)
	}
	return rest
}

// writePiece writes the cells of a piece with the style that is set, and returns the
// one that is set after it.
func (t *terminal) writePiece(p piece, cells uv.Line, pen uv.Style) uv.Style {
	for i := 0; i < len(cells); {
		t.moveTo(p.from+i, p.y)
		n := 0 // blanks from here on
		for i+n < len(cells) && cells[i+n].Equal(&uv.EmptyCell) {
			n++
		}
		switch edge := p.from+i+n == t.width; {
		case edge && n >= eraseToEdge:
			pen = t.style(pen, &cells[i])
			_, _ = t.cells.WriteString(ansi.EraseLineRight)
			return pen
		case n >= eraseFrom:
			pen = t.style(pen, &cells[i])
			_, _ = t.cells.WriteString(ansi.EraseCharacter(n))
			i += n
			continue
		}
		for last := i + max(n, 1); i < last; i++ {
			pen = t.style(pen, &cells[i])
			_, _ = t.cells.WriteString(cells[i].Content)
		}
		t.cells.SetPosition(p.from+i, p.y)
	}
	if p.to == t.width { // terminals differ in where the cursor is now
		_, _ = t.cells.WriteString("\r")
		t.cells.SetPosition(0, p.y)
	}
	return pen
}

// moveTo places the cursor, by a step to the right where that is shorter.
func (t *terminal) moveTo(x, y int) {
	if fromX, fromY := t.cells.Position(); fromY == y && fromX < x {
		_, _ = t.cells.WriteString(ansi.CursorForward(x - fromX))
		t.cells.SetPosition(x, y)
		return
	}
	t.cells.MoveTo(x, y)
}

// simple reports whether cells are of one column each and no links.
func simple(cells uv.Line) bool {
	for i := range cells {
		if c := &cells[i]; c.Width != 1 || c.Content == "" || !c.Link.IsZero() {
			return false
		}
	}
	return true
}

func blanks(cells uv.Line) (most int) {
	n := 0
	for i := range cells {
		if n++; !cells[i].Equal(&uv.EmptyCell) {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// style changes the terminal's style from pen to that of the cell, as far as it
// is seen there.
func (t *terminal) style(pen uv.Style, cell *uv.Cell) uv.Style {
	want := uv.ConvertStyle(cell.Style, t.profile)
	if want.Equal(&pen) || hollow(cell) && !fills(&pen) {
		return pen
	}
	change := want.Diff(&pen)
	if want.IsZero() && len(change) > len(ansi.ResetStyle) {
		change = ansi.ResetStyle
	}
	_, _ = t.cells.WriteString(change)
	return want
}

// note tells the renderer what the terminal shows, namely buffer, if something was
// written without it: it is let render that, and what it wrote is thrown away.
func (t *terminal) note() {
	if !t.stale {
		return
	}
	t.stale = false
	_ = t.cells.Flush()
	kept := t.queue.Len()
	x, y := t.cells.Position()
	t.renderBuffer()
	_ = t.cells.Flush()
	t.queue.Truncate(kept)
	t.cells.SetPosition(x, y)
}
