package coresview

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// drawable is a list of the view, whatever its rows are.
type drawable interface {
	Len() int
	Render(width, height int, th *theme.Theme) []string
}

// panel draws a part of the view in width × height cells.
type panel func(width, height int) []string

// stack puts a head, a list with the movers and another panel below it, and a foot above
// each other, and notes where the list is for the mouse. What is below the list has at
// least half of a window that is not small.
func (v *View) stack(width, height int, th *theme.Theme, head []string, l drawable, other panel, foot ...string) string {
	return rows.Stack(width, height, head, l.Len()+1, func(h int) []string {
		v.listAt = min(len(head), height-h)
		top := 0
		if n := l.Len(); n > 0 {
			top = n + 1
		}
		if h >= 2*(ledgerLeast+moversLines) {
			top = min(top, h/2)
		}
		top = max(min(top, h), 0)
		lines, rest := append(l.Render(width, top, th), ""), h-top-1
		switch {
		case rest < moversLines:
		case width >= besideFrom:
			left := min(max(width*2/5, moversLeast), moversBar)
			lines = append(lines, beside(v.renderMovers(left, rest, th), left, other(width-left-gap, rest))...)
		case rest < moversLines+1+ledgerLeast:
			lines = append(lines, v.renderMovers(width, rest, th)...)
		default:
			lines = append(append(lines, v.renderMovers(width, rest/2, th)...), "")
			lines = append(lines, other(width, rest-rest/2-1)...)
		}
		return fillTo(lines, h)
	}, foot)
}

// beside puts lines to the right of others that are at most left cells wide.
func beside(lines []string, left int, right []string) []string {
	out := make([]string, max(len(lines), len(right)))
	for k := range out {
		out[k] = widget.Fit(widget.LineAt(lines, k), left+gap, "") + widget.LineAt(right, k)
	}
	return out
}

func fillTo(lines []string, height int) []string {
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:max(height, 0)]
}

func keyLine(th *theme.Theme, width int, pairs ...string) string {
	return " " + rows.Keys(th, pairs...).Render(th, max(width-1, 0))
}

func (v *View) renderMovers(width, height int, th *theme.Theme) []string {
	v.rankMovers()
	lines := v.movers.Render(width, height, th)
	if v.movers.Len() == 0 && height > 1 {
		lines[1] = " " + th.Dim.Render(widget.Fit("no task moved in this window", width-1, th.Ellipsis))
	}
	return lines
}

func (v *View) renderTasks(width, height int, th *theme.Theme) string {
	t, b, g := v.table(), v.tasksBehind(), v.grouped(v.shown)
	i, j := v.cell(g)
	var title rows.Row
	title.Add(th.Title, " "+g.pair(i, j, th.Arrow))
	title.Add(th.Strong, "  "+v.tasks.Position())
	title.Add(th.Text, fmt.Sprintf("  %s, %s", v.cellClass(t, i, j), lastSpan(t.Span)))
	title.Add(th.Dim, fmt.Sprintf("  %s, %s/s", chart.Plural(len(b.tasks), "task"), field.Rate(t.PerS(uint64(b.count)))))
	if b.unnamed > 0 {
		title.Add(th.Warn, fmt.Sprintf("  %d migrations are too old: their tasks are forgotten", b.unnamed))
	}
	head := []string{title.Render(th, width)}
	if len(b.tasks) == 0 {
		head = append(head, th.Dim.Render(" no task moved there in this window"))
	}
	return v.stack(width, height, th, head, v.tasks, v.ledgerOf(v.cpuOf(g, i), th),
		keyLine(th, width, "Enter", "show among the processes", "w", "window", "Esc", "back to the map"))
}

// renderCores lists the CPUs, and where moves are not told apart says why; below
// them the tasks that move most and the ledger of the CPU under the cursor.
func (v *View) renderCores(width, height int, th *theme.Theme) string {
	if v.cores.Len() > 0 {
		v.cpu = v.cores.At()
	}
	var title rows.Row
	title.Add(th.Title, " Cores")
	title.Add(th.Strong, "  "+v.cores.Position())
	most := 0
	for i := range v.m.CPUs {
		most = max(most, int(slices.Max(v.m.CPUs[i].In[:])))
	}
	peak := ""
	v.top, peak = v.ticks.Scale(most, th.None)
	title.Add(th.Text, fmt.Sprintf("  %s, migrations %s, %s", chart.Plural(v.topo.Online.Len(), "CPU"), v.source(), peak))
	head, keys := []string{title.Render(th, width)}, []string{"Enter", "ledger: this CPU's time by task"}
	if v.moves.Have() {
		keys = append(keys, "Esc", "back to the map")
	} else {
		head = append(head, rows.Indented(th, th.Warn, "The map of migrations needs eBPF: "+v.why(), width-1)...)
	}
	return v.stack(width, height, th, head, v.cores, v.ledgerOf(v.cpu, th), keyLine(th, width, keys...))
}

// why is what the source of moves needs.
func (v *View) why() string {
	s := v.m.Sample
	names := []string{"tasks", "migrations"} // as the tasks' eBPF programs, so those of moves
	if s.Migrations == sample.SourcePerf {
		names = []string{"migrations", "tasks"}
	}
	for _, name := range names {
		if c := collector(s, name); c != nil && c.Better != "" {
			return c.Better
		}
	}
	return "the source in use counts migrations into each CPU only"
}

func collector(s *sample.Sample, name string) *sample.Collector {
	i := slices.IndexFunc(s.Collectors, func(c sample.Collector) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Collectors[i]
}

// sources say how good the counts of migrations are.
var sources = [...]string{sample.SourceNone: "not counted", sample.SourceSampled: "sampled, a lower bound", sample.SourcePerf: "by perf",
	sample.SourceSched: "by sched", sample.SourceBPF: "exact (eBPF)"}

func (v *View) source() string { return sources[v.m.Sample.Migrations] }

// renderLedger lists what took the CPU's time, and the remedy for the entry under the
// cursor.
func (v *View) renderLedger(width, height int, th *theme.Theme) string {
	head := v.ledgerHead(v.showLedger(v.ledger, v.cpu), v.ledger.Position(), width, th)
	keys := []string{"w", "window", "← →", "CPU", "Esc", "close"}
	line := ""
	if e := v.selectedEntry(); e != nil {
		advice := v.advise(e)
		if e.Kind == sample.RunOfTask {
			keys = append([]string{"Enter", "show its process"}, keys...)
		}
		if advice.movable && v.o.Pin != nil {
			keys = append([]string{"p", "pin"}, keys...)
		}
		var r rows.Row
		r.Add(th.Strong, " "+v.what(e))
		r.Add(th.Text, ": "+advice.full)
		line = r.Render(th, width)
	}
	foot := []string{line, keyLine(th, width, keys...)}
	onCPU := func(width, height int) []string { return v.renderOnCPU(v.cpu, width, height, th) }
	if !v.intervals.Have() {
		return rows.Stack(width, height, head, ledgerLeast, func(h int) []string { return fillTo(onCPU(width, h), h) }, foot)
	}
	return v.stack(width, height, th, head, v.ledger, onCPU, foot...)
}

// showLedger puts the CPU's ledger into a list, once for each sample.
func (v *View) showLedger(l *list.List[entryKey, model.LedgerEntry], cpu cpuset.CPU) *model.Ledger {
	b := v.book(cpu)
	if v.showing[l.Bare] != v.booked.key {
		v.showing[l.Bare] = v.booked.key
		l.Load(b.Entries, len(b.Entries) > 0)
	}
	return b
}

// selectedEntry is the entry under the ledger's cursor; nil when it is empty.
func (v *View) selectedEntry() *model.LedgerEntry {
	v.showLedger(v.ledger, v.cpu)
	e, ok := v.ledger.Selected()
	if !ok {
		return nil
	}
	return &e
}

// ledgerOf is a CPU's ledger without a cursor, below or beside another list.
func (v *View) ledgerOf(cpu cpuset.CPU, th *theme.Theme) panel {
	return func(width, height int) []string {
		v.beside = cpu
		lines := v.ledgerHead(v.showLedger(v.besides, cpu), "", width, th)
		if !v.intervals.Have() {
			lines = append(lines, v.renderOnCPU(cpu, width, height-len(lines), th)...)
		} else {
			lines = append(lines, v.besides.Render(width, height-len(lines), th)...)
		}
		return fillTo(lines, height)
	}
}

func (v *View) ledgerHead(l *model.Ledger, position string, width int, th *theme.Theme) []string {
	var title rows.Row
	title.Add(th.Title, fmt.Sprintf(" cpu %d: CPU time by task", l.CPU))
	if !v.intervals.Have() {
		return append([]string{title.Render(th, width)}, rows.Indented(th, th.Dim, v.waiting(), width-1)...)
	}
	if position != "" {
		title.Add(th.Strong, "  "+position)
	}
	title.Add(th.Text, "  "+lastSpan(l.Span))
	if where := v.where(l.CPU); where != "" {
		title.Add(th.Dim, "  "+where)
	}
	if l.Idle > 0 {
		title.Add(th.Dim, "  idle "+share(l.Idle.Seconds()/l.Span.Seconds()))
	}
	return []string{title.Render(th, width)}
}

func (v *View) waiting() string {
	if c := collector(v.m.Sample, "ledger"); c != nil && c.Err != nil {
		return "CPU time by task needs eBPF: " + c.Err.Error()
	}
	if v.waited >= 3 {
		return "CPU time by task needs eBPF: " + v.why()
	}
	return "Counting started; the first figures come with the next sample."
}

// what names an entry: "3641 nqueens", "irq 24 eth0", "softirq NET_RX".
func (v *View) what(e *model.LedgerEntry) string {
	switch e.Kind {
	case sample.RunOfIRQ:
		return fmt.Sprintf("irq %d %s", e.Number, e.Name)
	case sample.RunOfSoftIRQ:
		return "softirq " + cmp.Or(e.Name, fmt.Sprint(e.Number))
	}
	return fmt.Sprintf("%d %s", e.TID, cmp.Or(e.Name, comm(v.Task(e.TID))))
}

// renderOnCPU lists the tasks last seen on a CPU, most CPU time first.
func (v *View) renderOnCPU(cpu cpuset.CPU, width, height int, th *theme.Theme) []string {
	var on []field.Row
	for i := range v.m.Tasks {
		if used := v.m.Tasks[i].CPUPercent; cpuset.CPU(v.m.Sample.Tasks[i].LastCPU) == cpu && model.Known(used) && used > 0 {
			on = append(on, field.Row{M: v.m, I: i})
		}
	}
	v.onCPU.Load(on, true)
	return v.onCPU.Render(width, height, th)
}
