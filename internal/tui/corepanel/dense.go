package corepanel

import (
	"fmt"
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// gridRow is one row of the grid: parts of groups with a blank between them.
type gridRow struct{ parts [][]topology.CPU }

func (r gridRow) cells() int {
	n := len(r.parts) - 1
	for _, p := range r.parts {
		n += len(p)
	}
	return n
}

// dense draws a grid with a cell for each CPU: a row of loads and below it a row
// of the migrations into the same CPUs. Where those do not fit, one row stands
// for both, with height for load and style for migrations.
func (r *renderer) dense(height int) []string {
	label := r.g.digits + 2
	rows := r.gridRows(r.Width - label - 1)
	both := 1+2*len(rows) <= height
	lines := []string{r.legend(both)}
	for _, row := range rows {
		if len(lines) >= height {
			break
		}
		first := fmt.Sprintf("%*d ", label-1, row.parts[0][0].ID)
		r.rowSpots(row, label, len(lines), both)
		if !both {
			lines = append(lines, r.gridLine(first, row, bothCell))
			continue
		}
		lines = append(lines, r.gridLine(first, row, loadCell),
			r.gridLine(fmt.Sprintf("%*s ", label-1, ""), row, migrationCell))
	}
	return lines
}

// rowSpots notes where the CPUs of a row are, on both of its lines.
func (r *renderer) rowSpots(row gridRow, x, y int, both bool) {
	for _, part := range row.parts {
		for _, c := range part {
			s := spot{x: x, y: y, w: 1, cpus: cpuset.Of(c.ID), cell: true}
			r.spot(s)
			if s.y, s.again = y+1, true; both {
				r.spot(s)
			}
			x++
		}
		x++
	}
}

// gridRows packs the groups into rows of at most width cells. A group that is
// wider than a row is cut at a power of two, so that its rows are aligned.
func (r *renderer) gridRows(width int) []gridRow {
	var rows []gridRow
	chunk, most := powerBelow(width), r.partsPerRow(width)
	for _, g := range r.g.groups {
		for cpus := g.cpus; len(cpus) > 0; {
			n := len(cpus)
			if n > width {
				n = chunk
			}
			part := cpus[:n]
			cpus = cpus[n:]
			if last := len(rows) - 1; last >= 0 && rows[last].cells()+1+n <= width && len(rows[last].parts) < most {
				rows[last].parts = append(rows[last].parts, part)
				continue
			}
			rows = append(rows, gridRow{parts: [][]topology.CPU{part}})
		}
	}
	return rows
}

// partsPerRow is how many groups share a row: a power of two where they are
// alike, so that rows begin at round numbers.
func (r *renderer) partsPerRow(width int) int {
	first := len(r.g.groups[0].cpus)
	for _, g := range r.g.groups {
		if len(g.cpus) != first {
			return len(r.g.groups)
		}
	}
	return powerBelow((width + 1) / (first + 1))
}

// powerBelow is the largest power of two that is at most n, at least 1.
func powerBelow(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}

// cellOf is how one CPU looks in a grid.
type cellOf func(th *theme.Theme, rates *model.CPU) (theme.Style, string)

// gridLine draws one row, with its first CPU's number before it.
func (r *renderer) gridLine(label string, row gridRow, cell cellOf) string {
	dst := r.Theme.Dim.Append(make([]byte, 0, r.Width*4), label)
	for i, part := range row.parts {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = r.appendCells(dst, part, cell)
	}
	return string(r.Theme.Dim.Append(dst, r.rowNode(label, row)))
}

// appendCells draws CPUs beside each other. Equal styles that follow each other
// are one run, which keeps the line short.
func (r *renderer) appendCells(dst []byte, cpus []topology.CPU, cell cellOf) []byte {
	var open theme.Style
	for _, c := range cpus {
		style, glyph := cell(r.Theme, r.cpu(c))
		if r.Pick != nil {
			style, glyph = r.picked(c, style, glyph)
		}
		if style != open {
			dst = style.Open(open.Close(dst))
			open = style
		}
		dst = append(dst, glyph...)
	}
	return open.Close(dst)
}

// rowNode names the node of a row that holds CPUs of one node only, where there
// is room for it.
func (r *renderer) rowNode(label string, row gridRow) string {
	node := row.parts[0][0].Node
	for _, p := range row.parts {
		if p[0].Node != node {
			return ""
		}
	}
	text := fmt.Sprintf(" node %d", node)
	if node < 0 || len(label)+row.cells()+len(text) > r.Width || label[len(label)-2] == ' ' {
		return ""
	}
	return text
}

// migrationCell shows the migrations into a CPU as heat.
func migrationCell(th *theme.Theme, rates *model.CPU) (theme.Style, string) {
	if rates == nil || !model.Known(rates.InPerS) {
		return th.Text, "?"
	}
	style, glyph := th.Heat(heatStep(rates.InPerS, th.HeatSteps()))
	if rates.InPerS < 0.5 {
		style = th.Dim
	}
	return style, glyph
}

// bothCell shows load as height and migrations as weight or colour.
func bothCell(th *theme.Theme, rates *model.CPU) (theme.Style, string) {
	if rates == nil || !model.Known(rates.Busy) {
		return th.Text, "?"
	}
	return migrationStyle(th, rates.InPerS), widget.SparkCell(th, rates.Busy)
}

func migrationStyle(th *theme.Theme, inPerS float32) theme.Style {
	switch {
	case !(inPerS >= 1):
		return th.Dim
	case inPerS < 10:
		return th.Text
	case inPerS < 100:
		return th.Warn
	}
	return th.Bad
}

// heatStep puts a rate on the heat map's scale: a decade a step from 1/s.
func heatStep(perS float32, steps int) int {
	step := 0
	for limit := float32(0.5); perS >= limit && step < steps-1; step++ {
		if limit < 1 {
			limit = 1
		}
		limit *= 10
	}
	return step
}

// legend says what the cells mean and names the least-loaded CPU.
func (r *renderer) legend(both bool) string {
	th := r.Theme
	plain := func(s string) string { return th.Dim.Render(s) }
	left := plain(" busy ") + th.Spark[0] + plain("0% ") + th.Spark[7] + plain("100%  migrations in/s ")
	if both {
		for step, text := range []string{"0", "1", "10", "100", "1k"} {
			style, glyph := th.Heat(step)
			left += style.Render(glyph) + plain(text+" ")
		}
	} else {
		left += plain("0 ") + "1 " + th.Warn.Render("10 ") + th.Bad.Render("100")
	}
	right := ""
	if r.Model.LeastLoaded >= 0 {
		right = th.Title.Render(th.Mark + " cpu " + strconv.Itoa(int(r.Model.LeastLoaded)) + " least loaded")
	}
	return widget.Spread(left, right, r.Width, th.Ellipsis)
}
