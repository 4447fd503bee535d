package proctable

import (
	"slices"
	"unicode/utf8"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/tui/theme"
)

// important are columns in the order in which they get room where there is not enough for
// all; the others come after them.
var important = []string{"pid", "tid", "cpu_percent", "cpu", "migrations_per_s", "affinity", "migrations_history", "policy", "nice",
	"state", "wait_p99_ns", "blame", "throttled_percent", "user", "run_delay_percent", "time_s", "mem_percent"}

// Shown are the columns that the last Render had room for.
func (t *Table) Shown() []*field.TaskColumn {
	shown := t.List.Shown()
	return slices.DeleteFunc(slices.Clone(t.view.Columns), func(c *field.TaskColumn) bool { return !slices.Contains(shown, c.ID) })
}

// Read are the columns whose figures are needed: those shown, and those that are not only
// because every row of the page has the usual value.
func (t *Table) Read() []*field.TaskColumn {
	columns := t.Shown()
	for i, c := range t.view.Columns {
		if t.usual(i) {
			columns = append(columns, c)
		}
	}
	return columns
}

// appender returns what draws the column's cells.
func (t *Table) appender(c *field.TaskColumn) func([]byte, int32, *theme.Theme, int) []byte {
	style, text := cellStyles[c.ID], func(dst []byte, row field.Row, _ *theme.Theme, width int) []byte {
		return field.AppendCell(dst, c, row, width)
	}
	switch {
	case c.ID == "command":
		text = t.appendCommand
	case c.ID == "migrations_history":
		text = func(dst []byte, row field.Row, _ *theme.Theme, width int) []byte {
			return appendHistory(dst, c, row, width)
		}
	}
	return func(dst []byte, i int32, th *theme.Theme, width int) []byte {
		row := field.Row{M: t.summed, I: int(i), ASCII: th.ASCII}
		var s theme.Style
		switch {
		case c.Zero(row):
			s = th.Dim
		case style != nil:
			s = style(row, th)
		}
		return s.Close(text(s.Open(dst), row, th, width))
	}
}

// appendHistory draws the newest ticks that fit.
func appendHistory(dst []byte, c *field.TaskColumn, row field.Row, width int) []byte {
	if width >= c.Width {
		return field.AppendCell(dst, c, row, width)
	}
	start := len(dst)
	dst = c.Append(dst, row)
	newest := start
	for older := utf8.RuneCount(dst[start:]) - width; older > 0; older-- { // a cell each
		_, size := utf8.DecodeRune(dst[newest:])
		newest += size
	}
	return field.Pad(append(dst[:start], dst[newest:]...), start, width, false, row.ASCII)
}

// cellStyles mark the figures that the eye should find, by column: tasks that bounce,
// wait or run before others.
var cellStyles = map[string]func(row field.Row, th *theme.Theme) theme.Style{
	"migrations_per_s": func(row field.Row, th *theme.Theme) theme.Style {
		perS := row.Rates().MigPerS
		return either(!model.Known(perS), th.Dim, either(perS >= 10, th.Warn, th.Text))
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
	"throttled_percent": func(row field.Row, th *theme.Theme) theme.Style {
		g := row.M.CPUGroup(row.I)
		return either(g != nil && g.ThrottledPercent >= 10, th.Warn, th.Text)
	},
}

func either(is bool, style, other theme.Style) theme.Style {
	if is {
		return style
	}
	return other
}
