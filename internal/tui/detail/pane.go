// Package detail is the pane about one process: its figures, where it may run and
// why, its threads, the CPUs that one of them was on over time, and what was read
// on demand of its files and sockets.
//
// Start at Pane; its verbs are in verbs.go. Inspector reads what samples do not hold.
package detail

import (
	"strings"

	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/taskfacts"
	"piton/internal/tui/proctable"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Pane is the open detail pane; its list is of threads.
type Pane struct {
	*proctable.Table
	history history
	trace   trace
	reading Reading
	facted  taskfacts.Facts
	noRoom  bool // the last drawing had none for facts
	wakeups wakeups
	flows   sample.Flows
	noFlows string // why they are not known

	left  kernel.TID // under the cursor when the thread list lost the keys
	drawn drawn
}

// New returns a pane about nothing.
func New() *Pane { return &Pane{Table: newThreads(threadView())} }

// Note takes in the selected row's newest figures.
func (p *Pane) Note(row field.Row) {
	if task := row.Task(); task.TGID != p.reading.PID {
		p.reading, p.Table, p.left, p.wakeups, p.flows = Reading{PID: task.TGID}, newThreads(p.View()), 0, wakeups{}, sample.Flows{}
	}
	p.choose(row.Task())
	if p.trace.tid == row.Task().TID {
		p.history.note(row)
	}
}

// Take accepts what was read for the pane; a reading of another process than
// the selected one comes too late and is dropped.
func (p *Pane) Take(r Reading, row field.Row) {
	if r.PID != p.reading.PID {
		return
	}
	p.load(r, row)
	p.choose(row.Task())
	if t, ok := p.thread(p.trace.tid); ok && p.trace.tid != row.Task().TID {
		p.history.note(t)
	}
}

// TakeFacts accepts what was read on demand.
func (p *Pane) TakeFacts(f taskfacts.Facts) {
	if f.PID == p.reading.PID {
		p.facted = f
	}
}

// WantsFacts reports whether the pane has room for what is read on demand, as far
// as is known.
func (p *Pane) WantsFacts() bool { return !p.noRoom }

// Widths from which the facts stand beside threads and chart, and have half of it.
const (
	wide  = 110
	roomy = 160
)

// Height is the number of lines with which the pane in width cells shows all it
// has.
func (p *Pane) Height(row field.Row, width int) int {
	left, right := lanesOf(row)+1+max(1, len(p.reading.Threads)), factLines+wakeupLines
	switch {
	case width-2 < wide:
		return 2 + left + factLines/2 + 1 + p.demandHeight()
	case left < factLines+wakeupLines:
		left += p.demandHeight()
	default:
		right += p.demandHeight()
	}
	return 2 + max(left, right)
}

// lanesOf is the lines that the chart of a machine takes at most, where others
// want room too.
func lanesOf(row field.Row) int { return min(len(row.M.Topology.CPUs)+chartExtra, mostLanes) }

const (
	mostLanes  = 11
	chartExtra = 3 // lines of the chart besides a line a CPU: title, distances, times
	chartLeast = 4 // lines of a chart that is worth showing
)

// Render draws the pane in at most width cells and height lines.
func (p *Pane) Render(row field.Row, width, height int, th *theme.Theme) []string {
	row.ASCII = th.ASCII
	inner := width - 2
	lines := []string{p.title(row, width, th),
		" " + fact{"allowed", where(row, p.reading.Confinement, th)}.draw(inner, th)}
	body := p.narrow
	if inner >= wide {
		body = p.wide
	}
	p.noRoom, p.drawn = true, drawn{heading: height}
	for _, l := range body(row, inner, max(0, height-2), th) {
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

const columnsFrom = 72

// figures draws the facts of the sample, in two columns where there is room.
func (p *Pane) figures(row field.Row, width int, th *theme.Theme) (lines []string) {
	facts := p.facts(row)
	if width < columnsFrom {
		return group.Each(facts, func(f fact) string { return f.draw(width, th) })
	}
	half, n := width/2, len(facts)/2
	for i := range n {
		lines = append(lines, facts[i].draw(half-1, th)+" "+facts[n+i].draw(width-half, th))
	}
	return lines
}

// narrow stacks facts, chart, threads, and last what was read on demand. While the
// thread list has the keys, the facts give their room to it.
func (p *Pane) narrow(row field.Row, width, height int, th *theme.Theme) []string {
	var lines []string
	if p.Bare {
		lines = append(p.figures(row, width, th), p.wakeups.draw(1, width, th)...)
	}
	rest, threads := height-len(lines), 1+max(1, len(p.reading.Threads))
	chart := max(min(rest/2, lanesOf(row)), min(rest-threads, lanesOf(row)), min(rest, 3))
	lines = append(lines, p.chart(row, width, chart, th)...)
	p.drawn.heading = 2 + len(lines)
	list := p.list(width, min(height-len(lines), threads), th)
	lines = append(lines, list...)
	return append(lines, p.demanded(row, width, height-len(lines), th)...)
}

// wide puts threads and chart to the left, facts to the right; what was read on
// demand stands on the side that is shorter.
func (p *Pane) wide(row field.Row, width, height int, th *theme.Theme) []string {
	w := max(width/2, wide/2)
	if width < roomy {
		w = width * 13 / 25
	}
	threads, lanes := 1+max(1, len(p.reading.Threads)), lanesOf(row)
	short := threads+lanes < factLines+wakeupLines
	if chart := min(lanes, max(height/2, chartLeast)); height-threads < chart {
		threads = max(height-chart, min(height, 2))
	}
	p.drawn.heading = 2
	left := p.list(w, threads, th)
	right := append(p.figures(row, width-w-3, th), p.wakeups.draw(wakeupLines, width-w-3, th)...)
	chart := height - len(left)
	if short {
		chart = min(chart, lanes)
	}
	left = append(left, p.chart(row, w, chart, th)...)
	if short {
		left = append(left, p.demanded(row, w, height-len(left), th)...)
	} else {
		right = append(right, p.demanded(row, width-w-3, height-len(right), th)...)
	}
	lines := make([]string, min(max(len(left), len(right)), height))
	bar := th.Dim.Render(th.Vertical)
	for i := range lines {
		lines[i] = widget.Fit(widget.LineAt(left, i), w, "") + " " + bar + " " + widget.LineAt(right, i)
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
	return p.drawThreads(width, height, th)
}
