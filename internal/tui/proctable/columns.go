package proctable

import (
	"slices"
	"strconv"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/list"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// important are the columns that go last when there is no room for all; the others
// go first.
var important = []string{"pid", "tid", "cpu_percent", "cpu", "migrations_per_s", "affinity", "migrations_history", "policy", "user",
	"nice", "state", "run_delay_percent"}

// tightWidths are what columns can do with on a narrow screen.
var tightWidths = map[string]int{"user": 8, "policy": 7, "affinity": 8, "migrations_history": 7}

// setColumns gives the list the columns of the view.
func (t *Table) setColumns() {
	t.widths = t.needed()
	keep := t.view.Keep
	if keep == nil {
		keep = important
	}
	columns := make([]list.Column[int32], len(t.view.Columns))
	for i, c := range t.view.Columns {
		rank := slices.Index(keep, c.ID)
		if rank < 0 {
			rank = len(keep)
		}
		width := t.widthOf(c)
		columns[i] = list.Column[int32]{ID: c.ID, Title: c.Title, Short: c.Short, Width: width, Tight: min(tightWidths[c.ID], width),
			Right: c.Right, Rank: rank, Append: t.appender(c)}
	}
	t.SetColumns(columns)
}

// needed is what the largest PID and CPU number of the machine take.
func (t *Table) needed() [2]int {
	if t.m == nil || len(t.m.Sample.Tasks) == 0 || t.m.Topology == nil {
		return [2]int{}
	}
	tasks := t.m.Sample.Tasks
	return [2]int{max(5, len(strconv.Itoa(int(tasks[len(tasks)-1].TID)))),
		max(4, len(strconv.Itoa(int(t.m.Topology.Present.Last()))))}
}

// widthOf is a column's width. Numbers of tasks and CPUs take as much as the
// largest of them has, and the command gets the rest.
func (t *Table) widthOf(c *field.Column) int {
	if cells := t.view.Widths[c.ID]; cells > 0 && c.Width > 0 {
		return cells
	}
	switch c.ID {
	case "pid", "tid", "ppid":
		if t.widths[0] > 0 {
			return t.widths[0]
		}
	case "cpu":
		if t.widths[1] > 0 {
			return t.widths[1]
		}
	}
	return c.Width
}

// Shown are the columns that the last Render had room for.
func (t *Table) Shown() []*field.Column {
	shown := t.List.Shown()
	return slices.DeleteFunc(slices.Clone(t.view.Columns), func(c *field.Column) bool { return !slices.Contains(shown, c.ID) })
}

// ColumnAt is the column whose heading is at x cells from the left; nil when
// there is none.
func (t *Table) ColumnAt(x int) *field.Column {
	at := t.List.ColumnAt(x)
	if at == nil {
		return nil
	}
	c, _ := field.Lookup(at.ID) // it may be hidden since it was drawn
	return c
}

// SortBy sorts by a column in its usual direction; when the table is, inverts that.
func (t *Table) SortBy(c *field.Column) {
	if v := t.view; c == v.Sort {
		t.Invert()
	} else if c != nil {
		v.Sort, v.Desc = c, c.Desc
		t.SetView(v)
	}
}

// Invert turns the order round.
func (t *Table) Invert() {
	v := t.view
	v.Desc = !v.Desc
	t.SetView(v)
}

// StepSort sorts by the next column, or the one before.
func (t *Table) StepSort(forward bool) {
	all, by := t.view.Columns, 1
	if !forward {
		by = -1
	}
	t.SortBy(all[(slices.Index(all, t.view.Sort)+by+len(all))%len(all)])
}

// appender returns what draws the column's cells.
func (t *Table) appender(c *field.Column) func([]byte, int32, *theme.Theme, int) []byte {
	style, text := cellStyles[c.ID], func(dst []byte, row field.Row, _ *theme.Theme, width int) []byte {
		return field.AppendCell(dst, c, row, width)
	}
	switch {
	case c.Width == 0:
		text = func(dst []byte, row field.Row, th *theme.Theme, width int) []byte {
			start := len(dst)
			if row.I < len(t.tree) {
				dst = appendBranch(dst, t.tree[row.I], th)
			}
			return field.Pad(c.Append(dst, row), start, width, c.Right, row.ASCII)
		}
	case c.ID == "migrations_history":
		text = func(dst []byte, row field.Row, _ *theme.Theme, width int) []byte {
			return appendHistory(dst, c, row, width)
		}
	}
	return func(dst []byte, i int32, th *theme.Theme, width int) []byte {
		row := field.Row{M: t.summed, I: int(i), ASCII: th.ASCII}
		if style == nil {
			return text(dst, row, th, width)
		}
		s := style(row, th)
		return s.Close(text(s.Open(dst), row, th, width))
	}
}

// appendHistory draws the newest ticks that fit.
func appendHistory(dst []byte, c *field.Column, row field.Row, width int) []byte {
	if width >= c.Width {
		return field.AppendCell(dst, c, row, width)
	}
	start := len(dst)
	dst = c.Append(dst, row)
	newest := widget.SkipCells(string(dst[start:]), widget.Width(string(dst[start:]))-width)
	return field.Pad(append(dst[:start], newest...), start, width, false, row.ASCII)
}

// cellStyles mark the figures that the eye should find, by column: tasks that bounce,
// wait or run before others.
var cellStyles = map[string]func(row field.Row, th *theme.Theme) theme.Style{
	"migrations_per_s": func(row field.Row, th *theme.Theme) theme.Style {
		switch perS := row.Rates().MigPerS; {
		case !model.Known(perS) || perS < 0.05:
			return th.Dim
		case perS >= 10:
			return th.Warn
		}
		return th.Text
	},
	// It must not be the loudest thing on the screen.
	"migrations_history": func(_ field.Row, th *theme.Theme) theme.Style { return th.Dim },
	"policy": func(row field.Row, th *theme.Theme) theme.Style {
		policy := row.Task().Policy
		return either(policy.RealTime(), th.Warn, either(policy == kernel.Other, th.Dim, th.Text))
	},
	"state": func(row field.Row, th *theme.Theme) theme.Style {
		switch row.Task().State {
		case 'R':
			return th.Good
		case 'D', 'Z':
			return th.Warn
		}
		return th.Dim
	},
	"cpu_percent": func(row field.Row, th *theme.Theme) theme.Style {
		percent := row.Rates().CPUPercent
		return either(model.Known(percent) && percent >= 50, th.Strong, th.Text)
	},
	"run_delay_percent": func(row field.Row, th *theme.Theme) theme.Style {
		percent := row.Rates().DelayPercent
		return either(model.Known(percent) && percent >= 10, th.Warn, th.Text)
	},
}

func either(is bool, style, other theme.Style) theme.Style {
	if is {
		return style
	}
	return other
}
