package proctable

import (
	"slices"
	"strconv"

	"piton/internal/field"
)

// leastCommand is the width that the last, elastic column keeps.
const leastCommand = 12

// scrollText is how far one step of scrolling moves the elastic column's text
// once every other column has gone.
const scrollText = 16

// slot is one column as it is drawn.
type slot struct {
	column *field.Column
	width  int
}

// arrange decides which columns are drawn and how wide: as wide as they like,
// or else as tight as they can be read, or else only those that matter most.
func (t *Table) arrange(width int) (slots []slot, skip int) {
	columns := t.view.Columns
	if hide := min(t.scroll, max(0, len(columns)-2)); hide > 0 {
		columns = append(append([]*field.Column{}, columns[0]), columns[1+hide:]...)
		skip = (t.scroll - hide) * scrollText
	}
	room, elastic := width-gutter, false
	like := 0
	for _, c := range columns {
		elastic = elastic || c.Width == 0
		if c.Width > 0 {
			like += t.widthOf(c, false) + 1
		}
	}
	least := 0
	if elastic {
		least = min(leastCommand, room/2)
	}
	tight := like+least > room
	kept, used := t.choose(columns, room-least, tight)
	for i, c := range columns {
		switch {
		case c.Width == 0:
			slots = append(slots, slot{c, max(0, room-used)})
			used = room
		case kept[i]:
			slots = append(slots, slot{c, t.widthOf(c, tight)})
		}
	}
	return slots, skip
}

// choose picks the columns that fit into room cells, the most important first.
func (t *Table) choose(columns []*field.Column, room int, tight bool) (kept []bool, used int) {
	kept = make([]bool, len(columns))
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	if tight {
		slices.SortStableFunc(order, func(a, b int) int { return t.rank(columns[a]) - t.rank(columns[b]) })
	}
	for _, i := range order {
		if c := columns[i]; c.Width > 0 && used+t.widthOf(c, tight)+1 <= room {
			kept[i] = true
			used += t.widthOf(c, tight) + 1
		}
	}
	return kept, used
}

// important are the columns that go last when there is no room for all.
var important = []string{"pid", "tid", "cpu_percent", "cpu", "migrations_per_s", "affinity", "migrations_history", "policy", "user",
	"nice", "state", "run_delay_percent"}

// rank is a column's place among the important ones, or behind them; what decides
// the order comes right after the PID.
func (t *Table) rank(c *field.Column) int {
	if c == t.view.Sort && c.ID != important[0] {
		return 1
	}
	if i := slices.Index(important, c.ID); i >= 0 {
		return i
	}
	return len(important)
}

// tightWidths are what columns can do with on a narrow screen.
var tightWidths = map[string]int{"user": 8, "policy": 7, "affinity": 8, "migrations_history": 7}

// widthOf is a column's width. Numbers of tasks and CPUs take as much as the
// largest of them has, and the command gets the rest.
func (t *Table) widthOf(c *field.Column, tight bool) int {
	n := t.tasks()
	switch c.ID {
	case "pid", "tid", "ppid":
		if n > 0 {
			return max(5, len(strconv.Itoa(int(t.m.Sample.Tasks[n-1].TID))))
		}
	case "cpu":
		if n > 0 && t.m.Topology != nil {
			return max(4, len(strconv.Itoa(int(t.m.Topology.Present.Last()))))
		}
	}
	if w := tightWidths[c.ID]; tight && w > 0 {
		return w
	}
	return c.Width
}

// tasks is the number of tasks of the model.
func (t *Table) tasks() int {
	if t.m == nil {
		return 0
	}
	return len(t.m.Sample.Tasks)
}

// Shown are the columns that the last Render had room for.
func (t *Table) Shown() []*field.Column {
	if len(t.cache.layout) == 0 {
		return t.view.Columns
	}
	shown := make([]*field.Column, len(t.cache.layout))
	for i, s := range t.cache.layout {
		shown[i] = s.column
	}
	return shown
}

// ColumnAt is the column whose heading is at x cells from the left; nil when
// there is none.
func (t *Table) ColumnAt(x int) *field.Column {
	at := gutter
	for _, s := range t.cache.layout {
		if at += s.width + 1; x < at {
			return s.column
		}
	}
	return nil
}

// maxScroll is where scrolling to the right ends.
func (t *Table) maxScroll() int { return max(0, len(t.view.Columns)-2) + 20 }
