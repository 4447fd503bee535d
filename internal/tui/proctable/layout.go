package proctable

import (
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
// or else as tight as they can be read, or else without those that do not fit.
func (t *Table) arrange(width int) (slots []slot, skip int) {
	columns := t.view.Columns
	if hide := min(t.scroll, max(0, len(columns)-2)); hide > 0 {
		columns = append(append([]*field.Column{}, columns[0]), columns[1+hide:]...)
		skip = (t.scroll - hide) * scrollText
	}
	room, least, like := width-gutter, 0, 0
	for _, c := range columns {
		if c.Width == 0 {
			least = leastCommand
			continue
		}
		like += t.widthOf(c, false) + 1
	}
	tight := like+least > room
	for _, c := range columns {
		w := t.widthOf(c, tight)
		switch {
		case c.Width == 0:
			slots = append(slots, slot{c, 0})
		case w+1+least <= room:
			slots = append(slots, slot{c, w})
			room -= w + 1
		}
	}
	for i := range slots {
		if slots[i].width == 0 {
			slots[i].width = max(room, 0)
			room = 0
		}
	}
	return slots, skip
}

// tightWidths are what columns can do with on a narrow screen.
var tightWidths = map[string]int{"user": 8, "policy": 7, "affinity": 7, "bounce": 8}

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
			return max(3, len(strconv.Itoa(int(t.m.Topology.Present.Last()))))
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
