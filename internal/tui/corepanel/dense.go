package corepanel

import (
	"fmt"
	"strconv"

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
		if !both {
			lines = append(lines, r.gridLine(first, row, r.appendBoth))
			continue
		}
		lines = append(lines, r.gridLine(first, row, appendLoadCell),
			r.gridLine(fmt.Sprintf("%*s ", label-1, ""), row, r.appendMigrations))
	}
	return lines
}

// gridRows packs the groups into rows of at most width cells. A group that is
// wider than a row is cut at a power of two, so that its rows are aligned.
func (r *renderer) gridRows(width int) []gridRow {
	var rows []gridRow
	chunk := 1
	for chunk*2 <= width {
		chunk *= 2
	}
	for _, g := range r.g.groups {
		for cpus := g.cpus; len(cpus) > 0; {
			n := len(cpus)
			if n > width {
				n = chunk
			}
			part := cpus[:n]
			cpus = cpus[n:]
			if last := len(rows) - 1; last >= 0 && rows[last].cells()+1+n <= width {
				rows[last].parts = append(rows[last].parts, part)
				continue
			}
			rows = append(rows, gridRow{parts: [][]topology.CPU{part}})
		}
	}
	return rows
}

// gridLine draws one row, with its first CPU's number before it. Equal styles
// that follow each other are one run, which keeps the line short.
func (r *renderer) gridLine(label string, row gridRow, cell func([]byte, *theme.Theme, *model.CPU) []byte) string {
	dst := r.Theme.Dim.Append(make([]byte, 0, r.Width*4), label)
	for i, part := range row.parts {
		if i > 0 {
			dst = append(dst, ' ')
		}
		for _, c := range part {
			dst = cell(dst, r.Theme, r.cpu(c))
		}
	}
	return string(dst)
}

func (r *renderer) appendMigrations(dst []byte, th *theme.Theme, rates *model.CPU) []byte {
	if rates == nil || !model.Known(rates.InPerS) {
		return append(dst, '?')
	}
	style, glyph := th.Heat(heatStep(rates.InPerS, th.HeatSteps()))
	if rates.InPerS < 0.5 {
		style = th.Dim
	}
	return style.Append(dst, glyph)
}

// appendBoth shows load as height and migrations as weight or colour.
func (r *renderer) appendBoth(dst []byte, th *theme.Theme, rates *model.CPU) []byte {
	if rates == nil || !model.Known(rates.Busy) {
		return append(dst, '?')
	}
	return r.migrationStyle(rates.InPerS).Append(dst, widget.SparkCell(th, rates.Busy))
}

func (r *renderer) migrationStyle(inPerS float32) theme.Style {
	switch {
	case !(inPerS >= 1):
		return r.Theme.Dim
	case inPerS < 10:
		return r.Theme.Text
	case inPerS < 100:
		return r.Theme.Warn
	}
	return r.Theme.Bad
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
