// Package detail is the pane about one task: what it is, where it may run and
// why, its threads, and the CPUs it was on over time.
//
// Start at Pane. Inspector reads what samples do not hold.
package detail

import (
	"strings"

	"piton/internal/field"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"

	"piton/internal/kernel"
)

// Pane is the open detail pane.
type Pane struct {
	history History
	trace   trace
	settled bool // trace has chosen among the threads by how busy they are
	reading Reading
	used    usage
	percent map[kernel.TID]float32
}

// Note tells the pane of the selected row's newest figures.
func (p *Pane) Note(row field.Row) {
	if task := row.Task(); task.TGID != p.reading.PID {
		p.reading, p.used = Reading{PID: task.TGID}, usage{}
	}
	p.history.Note(row)
	p.choose(row.Task())
}

// Take accepts what was read for the pane; a reading of another process than
// the selected one comes too late and is dropped.
func (p *Pane) Take(r Reading, row field.Row) {
	if r.PID != p.reading.PID {
		return
	}
	p.rate(r, row.M.Sample.At, row.M.Sample.Host.TicksPerSecond)
	p.reading = r
	p.choose(row.Task())
}

// wide is the width from which the chart stands beside the figures.
const wide = 110

// Height is the number of lines with which the pane in width cells shows all it
// has.
func (p *Pane) Height(row field.Row, width int) int {
	lanes := min(len(row.M.Topology.CPUs)+chartExtra, mostLanes)
	threads := 1 + max(1, len(p.reading.Threads))
	if width-2 < wide {
		return 2 + factLines + lanes + threads
	}
	return 2 + max(factLines+threads, lanes)
}

// mostLanes is how high the chart gets at most, where others want room too.
const mostLanes = 11

// chartExtra is the lines of the chart besides a line a CPU: title, distances, times.
const chartExtra = 3

// Render draws the pane in at most width cells and height lines.
func (p *Pane) Render(row field.Row, width, height int, th *theme.Theme) []string {
	row.ASCII = th.ASCII
	inner := width - 2
	lines := []string{p.title(row, width, th),
		" " + fact{"allowed", where(row, p.reading.Confinement, th)}.draw(inner, th)}
	body := func(h int) []string {
		if inner < wide {
			return p.narrow(row, inner, h, th)
		}
		return p.wide(row, inner, h, th)
	}
	for _, l := range body(max(0, height-2)) {
		lines = append(lines, " "+l)
	}
	return lines[:min(len(lines), height)]
}

func (p *Pane) title(row field.Row, width int, th *theme.Theme) string {
	name := " " + field.Cell("command", row) + " "
	name = widget.Fit(name, min(widget.Width(name), max(0, width-20)), th.Ellipsis)
	rule := func(n int) string { return th.Border.Render(strings.Repeat(th.Horizontal, n)) }
	return rule(2) + th.Title.Render(name) + rule(max(0, width-2-widget.Width(name)))
}

// facts draws both lists of facts beside each other.
func (p *Pane) facts(row field.Row, width int, th *theme.Theme) []string {
	l, r := left(row), right(row)
	half := width / 2
	lines := make([]string, max(len(l), len(r)))
	for i := range lines {
		lines[i] = l[i].draw(half-1, th) + " " + r[i].draw(width-half, th)
	}
	return lines
}

// narrow stacks facts, chart and threads.
func (p *Pane) narrow(row field.Row, width, height int, th *theme.Theme) []string {
	lines := p.facts(row, width, th)
	rest := height - len(lines)
	lanes := min(len(row.M.Topology.CPUs)+chartExtra, mostLanes)
	chart := p.chart(row, width, max(min(rest/2, lanes), min(rest-2-len(p.reading.Threads), lanes), min(rest, 3)), th)
	lines = append(lines, chart...)
	return append(lines, p.list(width, height-len(lines), th)...)
}

// wide puts the chart to the right of the facts and the threads.
func (p *Pane) wide(row field.Row, width, height int, th *theme.Theme) []string {
	w := min(max(width*3/5, 74), 96)
	leftLines := p.facts(row, w, th)
	leftLines = append(leftLines, p.list(w, height-len(leftLines), th)...)
	chart := p.chart(row, width-w-3, height, th)
	lines := make([]string, max(len(leftLines), len(chart)))
	bar := th.Dim.Render(th.Vertical)
	for i := range lines {
		lines[i] = widget.Fit(widget.LineAt(leftLines, i), w, "") + " " + bar + " " + widget.LineAt(chart, i)
	}
	return lines
}

// list is the threads, or why they are not there.
func (p *Pane) list(width, height int, th *theme.Theme) []string {
	if height < 1 {
		return nil
	}
	if p.reading.Err != "" {
		return []string{th.Warn.Render(widget.Fit(field.Clean(p.reading.Err), width, th.Ellipsis))}
	}
	return p.threads(width, height, th)
}
