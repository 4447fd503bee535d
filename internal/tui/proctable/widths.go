package proctable

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"piton/internal/field"
	"piton/internal/tui/theme"
)

const (
	// calm is the ticks after which a column whose cells all fit into less becomes narrower;
	// a wider cell makes it wider at once.
	calm = 10
	// wideHistory is the width of the window from which MIGRATIONS has all its ticks;
	// shortHistory is its cells below.
	wideHistory, shortHistory = 140, 8
	userWidth                 = 8
	// besides is what the usual columns take at most where the commands need more than a
	// third of the window, up to mostCommand cells; htop's take 65.
	besides, mostCommand = 62, 136
)

// fixed are columns whose width does not come from the page.
var fixed = []string{"pid", "tid", "ppid", "cpu", "migrations_history"}

// width is what a column takes for the cells of the page.
type width struct {
	cells int
	peak  int // most that a cell took in the last ticks, in which all took less than cells
	ticks int // how many these are
}

// fits takes what the widest cell of a page needs, and reports whether that changes the
// width.
func (w *width) fits(cells int, tick bool) (changed bool) {
	switch {
	case cells > w.cells:
		*w = width{cells: cells}
		return true
	case cells == w.cells:
		w.peak, w.ticks = 0, 0
	case tick:
		if w.peak, w.ticks = max(w.peak, cells), w.ticks+1; w.ticks >= calm {
			*w = width{cells: w.peak}
			return true
		}
	}
	return false
}

// Render draws the heading and the rows in width cells and height lines.
func (t *Table) Render(cells, height int, th *theme.Theme) []string {
	page := t.Reach(height)
	at := place{cells: cells, rows: len(page), ascii: th.ASCII}
	if len(page) > 0 {
		at.first = page[0]
	}
	if changed := t.measure(page, at); changed || at.cells != t.at.cells {
		t.setColumns(at.cells)
	}
	t.at, t.ticked = at, false
	return t.List.Render(cells, height, th)
}

// place is what was measured last: rows from the first on, in a window of cells.
type place struct {
	cells, rows int
	first       int32
	ascii       bool
}

// measure finds out how wide the cells of a page are, and reports whether that changes the
// width of a column.
func (t *Table) measure(page []int32, at place) (changed bool) {
	if t.widths == nil {
		t.widths = make([]width, len(t.view.Columns))
	} else if at == t.at && !t.ticked {
		return false
	}
	for i, c := range t.view.Columns {
		if slices.Contains(fixed, c.ID) || t.view.Widths[c.ID] > 0 && c.Usual == nil {
			continue
		}
		most := 0
		for _, r := range page {
			row := field.Row{M: t.summed, I: int(r), ASCII: at.ascii}
			if c.Usual != nil && !t.wanted(c) && c.Usual(row) {
				continue
			}
			t.scratch = c.Append(t.scratch[:0], row)
			n := field.Width(t.scratch)
			if c.Width == 0 {
				n += t.indent(row)
			}
			most = max(most, n)
		}
		changed = t.widths[i].fits(most, t.ticked) || changed
	}
	return changed
}

// wanted reports whether a column is shown whatever is in it.
func (t *Table) wanted(c *field.TaskColumn) bool { return t.view.Chosen || c == t.view.Sort }

// usual reports whether a column of the view is away because all of the page has its usual
// value.
func (t *Table) usual(i int) bool {
	c := t.view.Columns[i]
	return c.Usual != nil && !t.wanted(c) && i < len(t.widths) && t.widths[i].cells == 0
}

// setColumns gives the list the columns of the view, as wide as they have to be in a
// window of so many cells.
func (t *Table) setColumns(cells int) {
	keep := t.view.Keep
	if keep == nil {
		keep = important
	}
	var columns []field.Column[int32]
	for i, c := range t.view.Columns {
		if t.usual(i) {
			continue
		}
		rank := slices.Index(keep, c.ID)
		if rank < 0 {
			rank = len(keep)
		}
		if rank == len(keep) && c.ID == "priority" {
			rank++ // it follows from NI and POL
		}
		column := field.Column[int32]{ID: c.ID, Title: c.Title, Short: c.Short, Right: c.Right, Desc: c.Desc, Rank: rank}
		t.Draws[c.ID] = t.appender(c)
		switch {
		case c.Width > 0:
			column.Width = t.widthOf(i, cells)
			if c.ID == "migrations_history" {
				column.Tight = min(shortHistory, column.Width)
			}
		default:
			column.Least = (cells + 2) / 3
			if i < len(t.widths) && !t.view.Chosen {
				column.Least = max(column.Least, min(t.widths[i].cells, mostCommand, cells-1-besides))
			}
		}
		columns = append(columns, column)
	}
	t.SetColumns(columns)
}

// widthOf is a column's width: what is set for it, or what the page needs. Text takes no
// more than is usual, and numbers of tasks and CPUs as much as the largest of the machine.
func (t *Table) widthOf(i, cells int) int {
	c := t.view.Columns[i]
	if set := t.view.Widths[c.ID]; set > 0 {
		return set
	}
	most, now := c.Width, c.Width
	if i < len(t.widths) {
		now = max(t.widths[i].cells, 1)
	}
	switch c.ID {
	case "pid", "tid", "ppid":
		return cmp.Or(t.largest[0], c.Width)
	case "cpu":
		return cmp.Or(t.largest[1], c.Width)
	case "migrations_history":
		if cells < wideHistory {
			return shortHistory
		}
		return c.Width
	case "user":
		most = userWidth
	}
	if c.Right { // figures are not cut
		return now
	}
	return min(most, now)
}

// needed is what the largest PID and CPU number of the machine take.
func (t *Table) needed() [2]int {
	if t.m == nil || len(t.m.Sample.Tasks) == 0 || t.m.Topology == nil {
		return [2]int{}
	}
	tasks := t.m.Sample.Tasks
	return [2]int{len(strconv.Itoa(int(tasks[len(tasks)-1].TID))), len(strconv.Itoa(int(t.m.Topology.Present.Last())))}
}

// indent is the cells of the lines of the tree before a command.
func (t *Table) indent(row field.Row) int {
	if row.I >= len(t.tree) {
		return 0
	}
	b := t.tree[row.I]
	n := 2 * int(b.depth)
	if b.folded {
		n += 2
	}
	return n
}

// appendCommand draws a command: the directory of the program, its name, the arguments.
// Where there is no room for all, it is the directory that is cut first, from the left.
func (t *Table) appendCommand(dst []byte, row field.Row, th *theme.Theme, cells int) []byte {
	if row.I < len(t.tree) {
		start := len(dst)
		dst = appendBranch(dst, t.tree[row.I], th)
		if cells -= t.indent(row); cells <= 0 {
			return field.Pad(dst, start, cells+t.indent(row), false, row.ASCII)
		}
	}
	text := field.AppendCommand(t.scratch[:0], row)
	t.scratch = text
	name, end := field.Program(row, text)
	if over := field.Width(text) - cells; over > 0 && t.Skipped() == 0 {
		if cut := cutDirectory(text[:name], over+1); cut > 0 {
			mark := len(text)
			text = append(append(text, th.Ellipsis...), text[cut:mark]...)
			t.scratch, text = text, text[mark:]
			name, end = name-cut+len(th.Ellipsis), end-cut+len(th.Ellipsis)
		}
	}
	text = field.Pad(text, 0, cells, false, row.ASCII)
	for name, end = min(name, len(text)), min(end, len(text)); end < len(text) && !utf8.RuneStart(text[end]); {
		end++ // of the ellipsis
	}
	for name < end && !utf8.RuneStart(text[name]) {
		name++
	}
	if name > 0 {
		dst = th.Dim.Close(append(th.Dim.Open(dst), text[:name]...))
	}
	dst = th.Strong.Close(append(th.Strong.Open(dst), text[name:end]...))
	return append(dst, text[end:]...)
}

// cutDirectory is where a directory goes on that loses so many cells or, at a slash, more;
// 0: it has none to lose.
func cutDirectory(dir []byte, cells int) int {
	last := 0
	for i, b := range dir {
		if b != '/' || i < 2 { // "./" is as short as what would say that it is missing
			continue
		}
		if last = i; field.Width(dir[:i]) >= cells {
			break
		}
	}
	return last
}
