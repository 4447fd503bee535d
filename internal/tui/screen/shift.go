package screen

import (
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// A sparkline moves one cell to the left at each tick. A terminal does that in
// two short commands, which delete the first cell and insert one at the end
// (DCH and ICH of ECMA-48); writing all the cells anew takes three bytes each.

// shiftBytes is about what a shift costs, two cursor movements and two commands,
// less the movement and the style that writing the cells takes.
const shiftBytes = 16

// canShift reports whether a terminal of that type knows DCH and ICH: all those
// that are in use today, which are children of xterm's or of the VT220.
func canShift(termType string) bool {
	family, _, _ := strings.Cut(termType, "-")
	switch family {
	case "xterm", "screen", "tmux", "linux", "rxvt", "alacritty", "contour", "foot", "ghostty", "kitty", "konsole", "rio", "st", "wezterm":
		return true
	}
	return false
}

// findShift finds cells [from, to) that are to show what is one cell to their
// right now, but for the last, and that would cost more to write.
func findShift(before, now uv.Line, start int) (from, to int, ok bool) {
	for from = start; from < len(now)-1; from = max(to, from+1) {
		saved := 0
		for to = from; to < len(now)-1 && now[to].Equal(&before[to+1]); to++ {
			if now[to].Equal(&before[to]) {
				continue
			}
			saved += len(now[to].Content)
			if to > from && now[to-1].Equal(&before[to-1]) {
				saved += moveBytes
			}
			if to > 0 && !now[to].Style.Equal(&now[to-1].Style) {
				saved += styleBytes
			}
		}
		if saved > shiftBytes {
			for now[from].Equal(&before[from]) { // no need to move these
				from++
			}
			return from, to + 1, true
		}
	}
	return 0, 0, false
}

// shift finds the cells of a line that can be moved, and moves them in buffer: the
// terminal is told when the line's pieces are written.
func (t *terminal) shift(y int) (found []shift) {
	if !t.shifts || t.fresh {
		return nil
	}
	before, now := t.buffer.Line(y), t.next.Line(y)
	if !narrow(before) || !narrow(now) {
		return nil
	}
	for from, to, ok := findShift(before, now, 0); ok; from, to, ok = findShift(before, now, to) {
		for x := from; x < to-1; x++ {
			cell := before[x+1]
			t.buffer.SetCell(x, y, &cell)
		}
		t.buffer.SetCell(to-1, y, nil)
		found = append(found, shift{from, to})
	}
	return found
}

// shift is cells [from, to) that move one cell to the left. The last one is new.
type shift struct{ from, to int }

// writeShift leaves the cursor on the new cell, which is blank.
func (t *terminal) writeShift(s shift, y int) {
	t.moveTo(s.from, y)
	_, _ = t.cells.WriteString(ansi.DeleteCharacter(1))
	t.moveTo(s.to-1, y)
	_, _ = t.cells.WriteString(ansi.InsertCharacter(1))
	t.stale = true
}

// narrow reports whether all cells are one column wide.
func narrow(line uv.Line) bool {
	for x := range line {
		if line[x].Width != 1 {
			return false
		}
	}
	return true
}
