package screen

import (
	"slices"

	uv "github.com/charmbracelet/ultraviolet"
)

// The cell renderer rewrites a line from its first changed cell to its last, one
// cell more, and ends with a style of none. Lines of a monitor change in several
// places, a figure here and a sparkline there, so changes are written here, one
// after the other, which costs about half the bytes. Where cells are wide or links,
// and on terminals of which little is known, the renderer does it.

// piece is cells [from, to) of line y that have changed.
type piece struct{ y, from, to int }

// So much that does not change is rewritten rather than skipped: about what it
// costs to place the cursor, and to set a style.
const (
	moveBytes  = 4
	styleBytes = 5
)

// pieces appends the changed pieces of line y, which are none if nothing
// changed. A line with cells that are not one column wide is one piece: the
// renderer rewrites it anyway.
func pieces(into []piece, before, now uv.Line, y int) []piece {
	if !narrow(before) || !narrow(now) {
		return append(into, piece{y: y, to: len(now)})
	}
	first := len(into)
	same := 0 // bytes since the last piece
	for x := range now {
		old, cell := &before[x], &now[x]
		if old.Equal(cell) || hollow(old) && hollow(cell) {
			same += len(cell.Content)
			if x > 0 && !cell.Style.Equal(&now[x-1].Style) {
				same += styleBytes
			}
			continue
		}
		if last := len(into) - 1; last >= first && same <= moveBytes {
			into[last].to = x + 1
		} else {
			into = append(into, piece{y: y, from: x, to: x + 1})
		}
		same = 0
	}
	return into
}

// narrow reports whether all cells are one column wide.
func narrow(line uv.Line) bool {
	return !slices.ContainsFunc(line, func(c uv.Cell) bool { return c.Width != 1 })
}

// hollow reports whether a cell shows nothing, in whatever style.
func hollow(c *uv.Cell) bool { return c.Content == " " && !fills(&c.Style) }

// fills reports whether a blank in that style is seen.
func fills(s *uv.Style) bool {
	return s.Bg != nil || s.Underline != 0 || s.Attrs&(uv.AttrReverse|uv.AttrStrikethrough) != 0
}

// render brings the terminal from buffer to next, into which the lines were drawn. The
// renderer draws all anew; where most lines change it sees the screen as a whole, too, if
// it is after a key, for they may have been scrolled.
func (t *terminal) render(lines []int, key bool) {
	t.cells.SetScrollOptim(false) // it hashes every line, changed or not, each time
	t.pieces = t.pieces[:0]
	differ := 0
	for _, y := range lines {
		had := len(t.pieces)
		if t.pieces = pieces(t.pieces, t.buffer.Line(y), t.next.Line(y), y); len(t.pieces) > had {
			differ++
		}
	}
	if t.fresh || differ > t.height/2 && (key || !t.modern) {
		t.note()
		t.cells.SetScrollOptim(true)
		for _, y := range lines {
			t.put(piece{y: y, to: t.width})
		}
		t.renderBuffer()
		return
	}
	if rest := t.write(t.pieces); len(rest) > 0 {
		t.note()
		t.renderRest(rest)
	}
}

// renderBuffer lets the renderer bring the terminal to show buffer. Before the first
// line of a blank rest of the screen it erases one more (clearBottom of
// ultraviolet), and writes that again only if it is taken to have changed.
func (t *terminal) renderBuffer() {
	if hollowLine(t.buffer.Line(t.height - 1)) {
		for y := range t.height {
			t.buffer.TouchLine(0, y, t.width)
		}
	}
	t.cells.Render(t.buffer.RenderBuffer)
}

func hollowLine(line uv.Line) bool {
	return !slices.ContainsFunc(line, func(c uv.Cell) bool { return !hollow(&c) })
}

// renderRest lets the renderer do pieces: the first of every line, then every
// second one, and so on.
func (t *terminal) renderRest(rest []piece) {
	for len(rest) > 0 {
		later := rest[:0]
		for i, p := range rest {
			if i > 0 && rest[i-1].y == p.y {
				later = append(later, p)
				continue
			}
			t.put(p)
		}
		t.renderBuffer()
		rest = later
	}
}

// put copies a piece. A wide cell brings the placeholders after it along.
func (t *terminal) put(p piece) {
	for x := p.from; x < p.to; x++ {
		if cell := t.next.CellAt(x, p.y); cell == nil || cell.Width > 0 {
			t.buffer.SetCell(x, p.y, cell)
		}
	}
}
