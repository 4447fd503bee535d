package corepanel

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// gridRow is the CPUs of one row of the grid; nil is a blank between groups.
type gridRow []*topology.CPU

// node is that of the row's first CPU, lastNode that of its last.
func (r gridRow) node() topology.NodeID     { return r[0].Node }
func (r gridRow) lastNode() topology.NodeID { return r[len(r)-1].Node }

// dense draws a grid with a cell for each CPU: a row of loads and below it a row of the
// migrations into the same CPUs. Where they do not all fit in height lines, it shows
// a page of whole nodes: that of the cursor, or else the one shown last.
func (r *renderer) dense(height int, p *Panel) []string {
	label := r.g.digits + 2
	rows := r.gridRows(r.Width - label - 1)
	pages := pagesOf(rows, max(1, (height-1)/2))
	p.pages, p.page = len(pages), max(0, min(p.page, len(pages)-1))
	if r.Pick != nil && !r.Pick.At.Empty() {
		at := max(0, slices.IndexFunc(rows, func(row gridRow) bool {
			return slices.ContainsFunc(row, func(c *topology.CPU) bool { return c != nil && c.ID == r.Pick.At.First() })
		}))
		p.page = slices.IndexFunc(pages, func(rows [2]int) bool { return at >= rows[0] && at < rows[1] })
	}
	first, end := pages[p.page][0], pages[p.page][1]
	lines := []string{r.legend(rows[first:end], p.page, len(pages))}
	longest, numbers, groups := 0, 0, make([]group, len(rows))
	for i, row := range rows {
		groups[i] = row.group()
		longest, numbers = max(longest, len(row)), max(numbers, len(groups[i].label))
	}
	for i, row := range rows {
		// Rows of other pages have a place too, above and below this one, so that the
		// cursor moves there.
		at := spot{x: label, y: 1 + 2*(i-first), off: i < first || i >= end}
		below := at
		below.y++
		if r.cellSpots(row, at, below); at.off {
			continue
		}
		load, moves := r.rowSums(row, &groups[i], longest-len(row), r.Width-label-longest, numbers)
		lines = append(lines, r.gridLine(fmt.Sprintf("%*d ", label-1, row[0].ID), row, loadCell)+load,
			r.gridLine(strings.Repeat(" ", label), row, migrationCell)+moves)
	}
	return lines[:max(1, min(len(lines), height))]
}

// pagesOf divides rows into pages of at most most rows, each as the range of its rows. A
// node goes to the next page rather than being cut, unless it is longer than one.
func pagesOf(rows []gridRow, most int) [][2]int {
	var pages [][2]int
	start := 0
	for i := 0; i < len(rows); {
		end := i + 1
		for end < len(rows) && rows[end].node() == rows[i].node() {
			end++
		}
		if end-start > most && i > start {
			pages, start = append(pages, [2]int{start, i}), i
		}
		for ; end-start > most; start += most {
			pages = append(pages, [2]int{start, start + most})
		}
		i = end
	}
	return append(pages, [2]int{start, len(rows)})
}

// gridRows packs the groups into rows of at most width cells. A group that is
// wider than a row is cut at a power of two, so that its rows are aligned.
func (r *renderer) gridRows(width int) []gridRow {
	var rows []gridRow
	chunk, most, parts := powerBelow(width), r.partsPerRow(width), 0
	for _, g := range r.g.groups {
		for cpus := g.cpus; len(cpus) > 0; {
			n := len(cpus)
			if n > width {
				n = chunk
			}
			last := len(rows) - 1
			if last >= 0 && len(rows[last])+1+n <= width && parts < most {
				rows[last] = append(append(rows[last], nil), cpus[:n]...)
				parts++
			} else {
				rows, parts = append(rows, append(make(gridRow, 0, width), cpus[:n]...)), 1
			}
			cpus = cpus[n:]
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

func powerBelow(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}

// cellOf is how one CPU looks in a grid.
type cellOf func(th *theme.Theme, rates *model.CPU) (theme.Style, string)

func (r *renderer) gridLine(before string, row gridRow, cell cellOf) string {
	return string(r.appendCells(r.Theme.Dim.Append(make([]byte, 0, r.Width*4), before), row, cell))
}

// leastRowBar is the cells of the bar of a row's load, at least.
const leastRowBar = 8

// group is a row's CPUs with their numbers for a label.
func (r gridRow) group() group {
	g := group{cpus: slices.DeleteFunc(slices.Clone(r), func(c *topology.CPU) bool { return c == nil })}
	var set cpuset.Builder
	for _, c := range g.cpus {
		set.Add(c.ID)
	}
	g.set = set.Set()
	g.label = g.set.String()
	return g
}

// rowSums are what a row of the grid comes to, in room cells behind its cells and the
// blanks that they leave: the load with the numbers of the CPUs, and below it their nodes
// with the migrations into them. Where there is less room it is the node.
func (r *renderer) rowSums(row gridRow, g *group, blanks, room, numbers int) (load, moves string) {
	th := r.Theme
	node := ""
	if first, last := row.node(), row.lastNode(); first >= 0 && first == last {
		node = fmt.Sprintf(" node %d", first)
	} else if first >= 0 {
		node = fmt.Sprintf(" nodes %d-%d", first, last)
	}
	bar := room - 1 - percentWidth - 1 - numbers
	if bar < leastRowBar {
		if row.node() == row.lastNode() && blanks+room >= len(node) {
			load = th.Dim.Render(node)
		}
		return load, ""
	}
	s := r.sum(g)
	dst := widget.AppendFramed(widget.AppendSpaces(make([]byte, 0, 4*room), blanks+1), th, &s.parts, bar)
	load = string(th.Dim.Append(appendPercent(dst, th, s.busy), " "+g.label))
	if node != "" {
		node += " " + th.Dot
	}
	in := th.None
	if model.Known(s.in) {
		in = fmt.Sprintf("%.0f", s.in)
	}
	return load, th.Dim.Render(strings.Repeat(" ", blanks) + node + " " + in + "/s in")
}

// appendCells draws CPUs beside each other. Equal styles that follow each other
// are one run, which keeps the line short.
func (r *renderer) appendCells(dst []byte, cpus []*topology.CPU, cell cellOf) []byte {
	var open theme.Style
	for _, c := range cpus {
		style, glyph := theme.Style{}, " "
		if c != nil {
			style, glyph = cell(r.Theme, r.Model.CPU(c.ID))
		}
		if c != nil && r.Pick != nil {
			style, glyph = r.picked(c.ID, style, glyph)
		}
		if style != open {
			dst = style.Open(open.Close(dst))
			open = style
		}
		dst = append(dst, glyph...)
	}
	return open.Close(dst)
}

func migrationCell(th *theme.Theme, rates *model.CPU) (theme.Style, string) {
	if rates == nil || !model.Known(rates.InPerS) {
		return th.Text, "?"
	}
	return th.Heat(theme.HeatStep(float64(rates.InPerS), 0.5, 10))
}

// heatLegend says what the shades of migrationCell mean, a second.
func (r *renderer) heatLegend(gap string) string {
	text := ""
	for step, from := range []string{"0", "1", "10", "100", "1k"} {
		style, glyph := r.Theme.Heat(step)
		text += style.Render(glyph) + r.Theme.Dim.Render(from) + gap
	}
	return text
}

// legend says what the cells mean, which page of how many it is, and which CPU is the
// idlest.
func (r *renderer) legend(rows []gridRow, page, pages int) string {
	th := r.Theme
	left := th.Dim.Render(" load ") + th.Spark[0] + th.Dim.Render("0% ") + th.Spark[7] + th.Dim.Render("100%  in/s ") + r.heatLegend(" ")
	right := ""
	if pages > 1 {
		nodes := fmt.Sprintf("node %d", rows[0].node())
		if last := rows[len(rows)-1].lastNode(); last != rows[0].node() {
			nodes = fmt.Sprintf("nodes %d-%d", rows[0].node(), last)
		}
		right = th.Strong.Render(fmt.Sprintf("%s, page %d/%d", nodes, page+1, pages))
	}
	if r.idlest >= 0 {
		right += "  " + th.Title.Render(fmt.Sprintf("idlest cpu %d", r.idlest))
	}
	return widget.Spread(left, right, r.Width, th.Ellipsis)
}
