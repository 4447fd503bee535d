package screen

import (
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// A row that changes its place in a list moves all those between by a line. A
// terminal does that in two short commands, which delete lines and insert as many
// elsewhere (DL and IL of ECMA-48).

// rollBytes is about what that costs.
const rollBytes = 20

// roll is a block of lines that move: those of [from, to) are to show what is by
// lines below them now, above them if by is negative.
type roll struct{ from, to, by int }

// span is the lines that the commands change: the block where it is and where it
// was.
func (r roll) span() (top, bottom int) { return min(r.from, r.from+r.by), max(r.to, r.to+r.by) }

// findRolls finds blocks that may be worth to move, one for each distance, from the
// contents of the lines and those they are to have. Lines within a block may have
// changed, too, and its ends but for their last words.
func findRolls(before, now []string, changed []int) (found []roll) {
	whole, ends := map[string]int{}, map[string]int{}
	for y, line := range before {
		remember(whole, line, y)
		remember(ends, ending(line), y)
	}
	for _, y := range changed {
		if y >= len(now) {
			break
		}
		was, ok := whole[now[y]]
		if !ok {
			was, ok = ends[ending(now[y])]
		}
		if !ok || was == several || was == y {
			continue
		}
		at := slices.IndexFunc(found, func(r roll) bool { return r.by == was-y })
		if at < 0 {
			found = append(found, roll{y, y + 1, was - y})
		} else {
			found[at].to = y + 1
		}
	}
	return found
}

// several stands for lines that look alike.
const several = -1

func remember(at map[string]int, line string, y int) {
	if _, again := at[line]; again || line == "" {
		y = several
	}
	at[line] = y
}

// ending is the last words of a line: of a row of a table, something that does not
// change with its figures.
func ending(line string) string {
	for {
		shorter := strings.TrimRight(strings.TrimSuffix(line, ansi.ResetStyle), " ")
		if len(shorter) == len(line) {
			return line[max(0, len(line)-endingBytes):]
		}
		line = shorter
	}
}

const endingBytes = 24

// roll moves a block of lines in the terminal and in buffer if that is less than
// to write them, and returns the lines that may still differ from next. The
// renderer is not told; see note.
func (t *terminal) roll(before []string, changed []int) (rest []int) {
	var r roll
	most := rollBytes
	for _, one := range findRolls(before, t.lines, changed) {
		if worth := t.worth(one); worth > most {
			r, most = one, worth
		}
	}
	if r.by == 0 {
		return changed
	}
	top, bottom := r.span()
	remove, insert, n := top, bottom-r.by, r.by
	if r.by < 0 {
		remove, insert, n = bottom+r.by, top, -r.by
	}
	t.moveTo(0, remove)
	_, _ = t.cells.WriteString(ansi.DeleteLine(n))
	t.moveTo(0, insert)
	_, _ = t.cells.WriteString(ansi.InsertLine(n))
	area := uv.Rect(0, top, t.width, bottom-top)
	t.buffer.DeleteLineArea(remove, n, nil, area)
	t.buffer.InsertLineArea(insert, n, nil, area)
	for y := top; y < bottom; y++ {
		rest = append(rest, y)
	}
	for _, y := range changed {
		if y < top || y >= bottom {
			rest = append(rest, y)
		}
	}
	slices.Sort(rest)
	t.stale = true
	return rest
}

// worth is about how many bytes fewer are to be written after the move.
func (t *terminal) worth(r roll) (bytes int) {
	top, bottom := r.span()
	blank := uv.NewLine(t.width)
	for y := top; y < bottom; y++ {
		was, now := t.buffer.Line(y), t.next.Line(y)
		if !narrow(was) || !narrow(now) {
			return 0
		}
		bytes += t.lineBytes(was, now)
		if y >= r.from && y < r.to {
			bytes -= t.lineBytes(t.buffer.Line(y+r.by), now)
		} else {
			bytes -= t.lineBytes(blank, now)
		}
	}
	return bytes
}

// placeBytes is about what it costs to place the cursor anywhere.
const placeBytes = 6

// lineBytes is about what it costs to make a line of another.
func (t *terminal) lineBytes(was, now uv.Line) (bytes int) {
	t.pieces = pieces(t.pieces[:0], was, now, 0, nil)
	for _, p := range t.pieces {
		bytes += placeBytes
		for x := p.from; x < p.to; x++ {
			bytes += len(now[x].Content)
			if x > p.from && !now[x].Style.Equal(&now[x-1].Style) {
				bytes += styleBytes
			}
		}
	}
	return bytes
}
