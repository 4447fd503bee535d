package screen

import (
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// eraseFrom is how many blanks the renderer can erase for less than writing them.
const eraseFrom = 8

// write writes the pieces that are best written cell by cell, and returns the
// rest. A style is kept from piece to piece. The renderer is not told; see note.
func (t *terminal) write(all []piece) (rest []piece, wrote bool) {
	rest = all[:0]
	var pen uv.Style
	for _, p := range all {
		cells := t.next.Line(p.y)[p.from:p.to]
		if p.to == t.width || !plain(cells) {
			rest = append(rest, p)
			continue
		}
		t.moveTo(p.from, p.y)
		for i := range cells {
			pen = t.style(pen, &cells[i])
			_, _ = t.cells.WriteString(cells[i].Content)
		}
		t.cells.SetPosition(p.to, p.y)
		t.put(p)
		wrote = true
	}
	if !pen.IsZero() {
		_, _ = t.cells.WriteString(ansi.ResetStyle)
	}
	return rest, wrote
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

// plain reports whether cells are of one column each and none can be erased.
func plain(cells uv.Line) bool {
	blanks := 0
	for i := range cells {
		c := &cells[i]
		if c.Width != 1 || c.Content == "" || !c.Link.IsZero() {
			return false
		}
		if !c.Equal(&uv.EmptyCell) {
			blanks = 0
		} else if blanks++; blanks == eraseFrom {
			return false
		}
	}
	return true
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

// note tells the renderer what the terminal shows already, namely buffer: it is
// let render that, and what it wrote is thrown away.
func (t *terminal) note() {
	_ = t.cells.Flush()
	kept := t.queue.Len()
	x, y := t.cells.Position()
	t.renderBuffer()
	_ = t.cells.Flush()
	t.queue.Truncate(kept)
	t.cells.SetPosition(x, y)
}
