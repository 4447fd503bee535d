package coresview

import (
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// followCPU keeps the cursor on its CPU.
func (v *View) followCPU(cpus []cpuset.CPU) {
	if i := slices.Index(cpus, v.cpu); i >= 0 {
		v.cores.Cursor = i
	}
	v.cores.Clamp(len(cpus))
	if len(cpus) > 0 {
		v.cpu = cpus[v.cores.Cursor]
	}
}

// renderCores lists the CPUs, and where moves are not told apart says why; below
// them the tasks that move most and the ledger of the CPU under the cursor.
func (v *View) renderCores(width, height int, th *theme.Theme) string {
	cpus := v.online()
	v.followCPU(cpus)
	head := v.coreHead(width, th)
	at := map[cpuset.CPU]int{}
	for i := range v.m.CPUs {
		at[v.m.CPUs[i].ID] = i
	}
	list := v.cores.Body(len(cpus), func(i int, selected bool) string {
		var c *model.CPU
		if k, ok := at[cpus[i]]; ok {
			c = &v.m.CPUs[k]
		}
		return v.coreRow(cpus[i], c, width, th).Item(th, width, selected)
	})
	pairs := []string{"Enter", "ledger: this CPU's time by task"}
	if v.moves.Have() {
		pairs = append(pairs, "Esc", "back to the map")
	}
	body := v.over(list, len(cpus), width, th, v.ledgerOf(v.cpu, th))
	return rows.Stack(width, height, head, len(cpus), body, []string{keys(th, width, pairs...)})
}

// panel draws a part of the view in width × height cells.
type panel func(width, height int) []string

func (v *View) ledgerOf(cpu cpuset.CPU, th *theme.Theme) panel {
	return func(width, height int) []string { return v.renderBeside(cpu, width, height, th) }
}

// over is a list of n rows with the movers and another panel below it, which have
// at least half of a window that is not small.
func (v *View) over(list func(int) []string, n, width int, th *theme.Theme, other panel) func(int) []string {
	return func(height int) []string {
		top := n
		if height >= 2*(ledgerLeast+moversLines) {
			top = min(n, height/2)
		}
		v.page = min(top, height)
		lines := fillTo(list(min(top, height)), min(top, height))
		rest := height - top - 1
		switch {
		case rest < moversLines:
			return fillTo(lines, height)
		case width >= besideFrom:
			left := min(max(width*2/5, moversLeast), moversBar)
			right := other(width-left-gap, rest)
			lines = append(append(lines, ""), beside(v.renderMovers(left, rest, th), left, right)...)
		case rest < moversLines+1+ledgerLeast:
			lines = append(append(lines, ""), v.renderMovers(width, rest, th)...)
		default:
			movers := fillTo(v.renderMovers(width, rest/2, th), rest/2)
			lines = append(append(append(lines, ""), movers...), "")
			lines = append(lines, other(width, rest-rest/2-1)...)
		}
		return fillTo(lines, height)
	}
}

// coreHead is the title, the reason why there is no map, and the headings.
func (v *View) coreHead(width int, th *theme.Theme) []string {
	var title rows.Row
	title.Add(th.Title, " Cores")
	title.Add(th.Text, fmt.Sprintf("  %s, migrations %s", widget.Plural(v.topo.Online.Len(), "CPU"), v.source()))
	out := []string{title.Render(th, width)}
	if !v.moves.Have() {
		out = append(out, rows.Indented(th, th.Warn, "The map of migrations needs eBPF: "+v.why(), width-1)...)
	}
	var h rows.Row
	h.Right(th, th.Header, "CPU", 4)
	h.Add(th.Text, "  ")
	h.Left(th, th.Header, "WHERE", whereWidth)
	h.Right(th, th.Header, "BUSY%", 6)
	if width >= barFrom {
		h.Add(th.Text, "           ")
	}
	for _, t := range []string{"IRQ%", "IN/s", "OUT/s", "PINNED"} {
		h.Right(th, th.Header, t, 7)
	}
	h.Add(th.Text, "  ")
	h.Left(th, th.Header, "MIG IN", sparkWidth(width))
	return append(out, h.Item(th, width, false))
}

// why is what the source of moves needs.
func (v *View) why() string {
	if v.o.Why != "" {
		return v.o.Why
	}
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

// source says how good the counts of migrations are.
func (v *View) source() string {
	switch s := v.m.Sample.Migrations; s {
	case sample.SourceBPF:
		return "exact (eBPF)"
	case sample.SourceNone:
		return "not counted"
	case sample.SourceSampled:
		return "sampled, a lower bound"
	default:
		return "by " + s.String()
	}
}

// Widths of the list of CPUs.
const (
	whereWidth = 16
	barFrom    = 96 // windows from this width on have a bar of the load
)

func sparkWidth(width int) int { return max(min(width-70, model.HistoryLen), 8) }

func (v *View) coreRow(id cpuset.CPU, c *model.CPU, width int, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Right(th, th.Strong, fmt.Sprint(id), 4)
	r.Add(th.Text, "  ")
	g := v.grouped(model.ByCPU)
	where := ""
	if i := g.Index(id); i >= 0 && g.Level == model.ByCPU {
		where = parent(g, i, false)
	}
	r.Left(th, th.Dim, where, whereWidth)
	if c == nil {
		r.Add(th.Dim, "  no figures")
		return r
	}
	r.Right(th, th.Load(c.Busy), figure(c.Busy*100, th), 6)
	if width >= barFrom {
		r.Add(th.Text, " ")
		r.Drawn(widget.AppendBar(nil, th, c.Busy, 10))
	}
	r.Right(th, th.Text, figure((c.IRQ+c.SoftIRQ)*100, th), 7)
	r.Right(th, th.Text, figure(c.InPerS, th), 7)
	r.Right(th, th.Text, figure(c.OutPerS, th), 7)
	r.Right(th, th.Text, fmt.Sprint(c.Pinned), 7)
	r.Add(th.Text, "  ")
	r.Drawn(widget.AppendRateSpark(nil, th, c.In[:], c.Ticks, float32(v.m.Elapsed.Seconds()), sparkWidth(width)))
	return r
}

// figure writes a rate or percentage; a dash for one that is not known.
func figure(value float32, th *theme.Theme) string {
	if !model.Known(value) {
		return th.None
	}
	return rate(float64(value))
}
