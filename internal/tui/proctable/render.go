package proctable

import (
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// gutter is the cells left of the first column: the cursor or the tag.
const gutter = 1

// rowCache keeps the text of the rows on the screen, so that a key that moves
// the cursor formats nothing.
type rowCache struct {
	generation uint64
	width      int
	th         *theme.Theme
	rows       []cachedRow
	layout     []slot
	skip       int // cells cut from the left of the elastic column
	heading    string
}

type cachedRow struct {
	index int32
	plain string // one style for the whole row
	cells string // with a style for each cell that deserves one
}

// Render draws the heading and the rows in width cells and height lines.
func (t *Table) Render(width, height int, th *theme.Theme) []string {
	if height < 1 || width < 1 {
		return nil
	}
	if rows := max(1, height-1); rows != t.height {
		visible := t.SelectedVisible()
		t.height = rows
		if visible {
			t.reveal()
		}
		t.clampTop()
	}
	c := &t.cache
	if c.generation != t.generation || c.width != width || c.th != th {
		*c = rowCache{generation: t.generation, width: width, th: th, rows: c.rows[:0]}
		c.layout, c.skip = t.arrange(width)
		c.heading = t.heading(th, width)
	}
	for len(c.rows) < t.height {
		c.rows = append(c.rows, cachedRow{index: -1})
	}
	lines := make([]string, 0, height)
	lines = append(lines, c.heading)
	for y := 0; y < t.height && len(lines) < height; y++ {
		if i := t.top + y; i < len(t.rows) {
			lines = append(lines, t.line(y, i, th))
		} else {
			lines = append(lines, "")
		}
	}
	return lines
}

// heading draws the titles; the column that the list is sorted by is marked.
func (t *Table) heading(th *theme.Theme, width int) string {
	dst := th.Header.Open(make([]byte, 0, width*2))
	used := gutter
	dst = widget.AppendSpaces(dst, gutter)
	for _, s := range t.cache.layout {
		sorted := s.column == t.view.Sort
		title := s.column.Title
		if s.column.Short != "" && s.width <= len(title) {
			title = s.column.Short
		}
		if sorted { // a column has room for the mark beside its title
			title += sortMark(th, t.view.Desc)
			dst = th.Header.Close(dst)
			dst = th.HeaderSort.Open(dst)
		}
		dst = widget.AppendFit(dst, []byte(title), s.width, s.column.Right, th.Ellipsis)
		if sorted {
			dst = th.HeaderSort.Close(dst)
			dst = th.Header.Open(dst)
		}
		dst = append(dst, ' ')
		used += s.width + 1
	}
	dst = widget.AppendSpaces(dst, width-used)
	return widget.Fit(string(th.Header.Close(dst)), width, "")
}

func sortMark(th *theme.Theme, desc bool) string {
	if desc {
		return th.SortDown
	}
	return th.SortUp
}

// line draws the i-th row on line y of the page.
func (t *Table) line(y, i int, th *theme.Theme) string {
	cached := &t.cache.rows[y]
	if cached.index != t.rows[i] {
		*cached = cachedRow{index: t.rows[i]}
	}
	row := t.Row(i)
	row.ASCII = th.ASCII
	cursor, tagged := i == t.cursor, t.tags[KeyOf(row.Task())]
	if !cursor && !tagged && row.Task().Flags&sample.FlagKernelThread == 0 {
		if cached.cells == "" {
			cached.cells = t.format(row, i, th, true)
		}
		return cached.cells
	}
	if cached.plain == "" {
		cached.plain = t.format(row, i, th, false)
	}
	switch {
	case cursor && t.quiet && tagged:
		return th.Tagged.Render(th.Cursor + cached.plain)
	case cursor && t.quiet:
		return th.Text.Render(th.Cursor + cached.plain)
	case cursor && tagged:
		return th.Both.Render(th.Cursor + cached.plain)
	case cursor:
		return th.Selected.Render(th.Cursor + cached.plain)
	case tagged:
		return th.Tagged.Render(th.Tag + cached.plain)
	}
	return th.Dim.Render(" " + cached.plain)
}

// format writes a row's cells; styled ones stand for themselves and have the
// gutter before them.
func (t *Table) format(row field.Row, i int, th *theme.Theme, styled bool) string {
	dst := make([]byte, 0, t.cache.width*2)
	if styled {
		dst = append(dst, ' ')
	}
	for n, s := range t.cache.layout {
		if n > 0 {
			dst = append(dst, ' ')
		}
		style := th.Text
		if styled {
			style = cellStyle(s.column.ID, row, th)
		}
		dst = style.Open(dst)
		switch {
		case s.column.Width == 0:
			dst = t.appendElastic(dst, s, row, i, th)
		case s.column.ID == "migrations_history" && s.width < s.column.Width:
			dst = appendNewest(dst, s, row)
		default:
			dst = field.AppendCell(dst, s.column, row, s.width)
		}
		dst = style.Close(dst)
	}
	return string(dst)
}

// appendNewest adds a column of ticks with only the newest that fit.
func appendNewest(dst []byte, s slot, row field.Row) []byte {
	start := len(dst)
	dst = s.column.Append(dst, row)
	newest := widget.SkipCells(string(dst[start:]), widget.Width(string(dst[start:]))-s.width)
	return field.Pad(append(dst[:start], newest...), start, s.width, false, row.ASCII)
}

// appendElastic adds the column that takes what is left: the command, with the
// tree's lines before it, or scrolled.
func (t *Table) appendElastic(dst []byte, s slot, row field.Row, i int, th *theme.Theme) []byte {
	start := len(dst)
	if i < len(t.tree) {
		dst = appendBranch(dst, t.tree[i], th)
	}
	text := len(dst)
	dst = s.column.Append(dst, row)
	if t.cache.skip > 0 {
		dst = append(dst[:text], widget.SkipCells(string(dst[text:]), t.cache.skip)...)
	}
	return field.Pad(dst, start, s.width, s.column.Right, th.ASCII)
}

// cellStyle marks the figures that the eye should find: tasks that bounce, wait
// or run before others.
func cellStyle(column string, row field.Row, th *theme.Theme) theme.Style {
	task, rates := row.Task(), row.Rates()
	switch column {
	case "migrations_per_s":
		switch {
		case !model.Known(rates.MigPerS) || rates.MigPerS < 0.05:
			return th.Dim
		case rates.MigPerS >= 10:
			return th.Warn
		}
	case "migrations_history":
		return th.Dim // it must not be the loudest thing on the screen
	case "policy":
		if task.Policy.RealTime() {
			return th.Warn
		}
		if task.Policy == kernel.Other {
			return th.Dim
		}
	case "state":
		switch task.State {
		case 'R':
			return th.Good
		case 'D', 'Z':
			return th.Warn
		}
		return th.Dim
	case "cpu_percent":
		if model.Known(rates.CPUPercent) && rates.CPUPercent >= 50 {
			return th.Strong
		}
	case "run_delay_percent":
		if model.Known(rates.DelayPercent) && rates.DelayPercent >= 10 {
			return th.Warn
		}
	}
	return th.Text
}
