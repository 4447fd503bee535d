package coresview

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// renderCores lists the CPUs, and where moves are not told apart says why; below
// them the tasks that move most and the ledger of the CPU under the cursor.
func (v *View) renderCores(width, height int, th *theme.Theme) string {
	v.moved()
	pairs := []string{"Enter", "ledger: this CPU's time by task"}
	if v.moves.Have() {
		pairs = append(pairs, "Esc", "back to the map")
	}
	body := v.over(v.cores, width, th, v.ledgerOf(v.cpu, th))
	return v.stack(width, height, v.coreHead(width, th), v.cores, body, []string{keys(th, width, pairs...)})
}

// drawable is a list of the view, whatever its rows are.
type drawable interface {
	Len() int
	Move(by int)
	Page(by int)
	Home()
	End()
	Click(x, y int) (row bool)
	Render(width, height int, th *theme.Theme) []string
}

// stack puts a head, a list with what is below it and a foot above each other, and
// notes where the list is for the mouse.
func (v *View) stack(width, height int, head []string, l drawable, body func(int) []string, foot []string) string {
	return rows.Stack(width, height, head, l.Len()+1, func(h int) []string {
		v.listAt = min(len(head), height-h)
		return body(h)
	}, foot)
}

// panel draws a part of the view in width × height cells.
type panel func(width, height int) []string

func (v *View) ledgerOf(cpu cpuset.CPU, th *theme.Theme) panel {
	return func(width, height int) []string { return v.renderBeside(cpu, width, height, th) }
}

// over is a list with the movers and another panel below it, which have at least half
// of a window that is not small.
func (v *View) over(l drawable, width int, th *theme.Theme, other panel) func(int) []string {
	return func(height int) []string {
		top := 0
		if n := l.Len(); n > 0 {
			top = n + 1
		}
		if height >= 2*(ledgerLeast+moversLines) {
			top = min(top, height/2)
		}
		lines := fillTo(l.Render(width, min(top, height), th), min(top, height))
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
	title.Add(th.Strong, "  "+v.cores.Position())
	title.Add(th.Text, fmt.Sprintf("  %s, migrations %s", widget.Plural(v.topo.Online.Len(), "CPU"), v.source()))
	_, peak := v.ticks.Scale(v.most, th.None)
	title.Add(th.Dim, ", "+peak)
	out := []string{title.Render(th, width)}
	if !v.moves.Have() {
		out = append(out, rows.Indented(th, th.Warn, "The map of migrations needs eBPF: "+v.why(), width-1)...)
	}
	return out
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

// newCores is the list of CPUs, in display order at first.
func (v *View) newCores() *list.List[cpuset.CPU, cpuset.CPU] {
	of := func(id cpuset.CPU) *model.CPU {
		if i := slices.IndexFunc(v.m.CPUs, func(c model.CPU) bool { return c.ID == id }); i >= 0 {
			return &v.m.CPUs[i]
		}
		return &noFigures
	}
	column := func(id, title string, value func(c *model.CPU) float32) list.Column[cpuset.CPU] {
		return figures(id, title, func(a, b cpuset.CPU) int { return cmp.Compare(value(of(a)), value(of(b))) },
			func(id cpuset.CPU, th *theme.Theme) string { return figure(value(of(id)), th) })
	}
	busy := column("busy", "BUSY%", func(c *model.CPU) float32 { return c.Busy * 100 })
	busy.Rank, busy.Cell = 1, func(id cpuset.CPU, th *theme.Theme, _ int) (string, theme.Style) {
		c := of(id)
		return figure(c.Busy*100, th), th.Load(c.Busy)
	}
	return list.New(func(id cpuset.CPU) cpuset.CPU { return id }, "",
		list.Column[cpuset.CPU]{ID: "cpu", Title: "CPU", Width: 4, Right: true, Compare: func(a, b cpuset.CPU) int { return cmp.Compare(a, b) },
			Cell: func(id cpuset.CPU, th *theme.Theme, _ int) (string, theme.Style) { return fmt.Sprint(id), th.Strong }},
		list.Column[cpuset.CPU]{ID: "where", Title: "WHERE", Width: 16, Rank: 2,
			Cell: func(id cpuset.CPU, th *theme.Theme, _ int) (string, theme.Style) {
				g := v.grouped(model.ByCPU)
				if i := g.Index(id); i >= 0 && g.Level == model.ByCPU {
					return parent(g, i, false), th.Dim
				}
				return "", th.Dim
			}},
		busy,
		list.Column[cpuset.CPU]{ID: "bar", Width: 10, Rank: 9, Append: func(dst []byte, id cpuset.CPU, th *theme.Theme, width int) []byte {
			return widget.AppendBar(dst, th, max(of(id).Busy, 0), width)
		}},
		column("irq", "IRQ%", func(c *model.CPU) float32 { return (c.IRQ + c.SoftIRQ) * 100 }),
		column("in", "IN/s", func(c *model.CPU) float32 { return c.InPerS }),
		column("out", "OUT/s", func(c *model.CPU) float32 { return c.OutPerS }),
		figures("pinned", "PINNED", func(a, b cpuset.CPU) int { return cmp.Compare(of(a).Pinned, of(b).Pinned) },
			func(id cpuset.CPU, _ *theme.Theme) string { return fmt.Sprint(of(id).Pinned) }),
		list.Column[cpuset.CPU]{ID: "sparks", Title: "MIG IN", Tight: 12, Append: func(dst []byte, id cpuset.CPU, th *theme.Theme, width int) []byte {
			c, shown := of(id), min(width, model.HistoryLen)
			dst = widget.AppendSpark(dst, th, c.In[:], c.Ticks, v.top, shown)
			return widget.AppendSpaces(dst, width-shown)
		}})
}

// noFigures stands for a CPU that the sample does not have.
var noFigures = model.CPU{Busy: model.Unknown, InPerS: model.Unknown, OutPerS: model.Unknown, IRQ: model.Unknown}

// figure writes a rate or percentage; a dash for one that is not known.
func figure(value float32, th *theme.Theme) string {
	if !model.Known(value) {
		return th.None
	}
	return rate(float64(value))
}
