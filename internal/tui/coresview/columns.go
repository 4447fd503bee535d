package coresview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/list"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// words is a column of texts.
func words[R any](id, title string, width, tight, rank int, text func(r R, th *theme.Theme) (string, theme.Style)) list.Column[R] {
	return list.Column[R]{ID: id, Title: title, Width: width, Tight: tight, Rank: rank,
		Cell: func(r R, th *theme.Theme, _ int) (string, theme.Style) { return text(r, th) }}
}

// figures is a column of figures, the largest first. Rows whose value is not known have a
// dash and come last.
func figures[R any, V cmp.Ordered](id, title string, tight, rank int, value func(r R) (v V, known bool), text func(V) string) list.Column[R] {
	return list.Column[R]{ID: id, Title: title, Width: 8, Tight: tight, Rank: rank, Right: true, Desc: true,
		Has: func(r R) bool { _, known := value(r); return known },
		Compare: func(a, b R) int {
			x, _ := value(a)
			y, _ := value(b)
			return cmp.Compare(x, y)
		},
		Cell: func(r R, th *theme.Theme, _ int) (string, theme.Style) {
			if v, known := value(r); known {
				return text(v), th.Text
			}
			return th.None, th.Text
		}}
}

// loaded is a column in the style of a share of a CPU.
func loaded[R any](c list.Column[R], share func(r R) float32) list.Column[R] {
	cell := c.Cell
	c.Cell = func(r R, th *theme.Theme, width int) (string, theme.Style) {
		text, _ := cell(r, th, width)
		return text, th.Load(share(r))
	}
	return c
}

// tid is a column of numbers of tasks.
func tid[R any](rank int, of func(r R) kernel.TID) list.Column[R] {
	c := words("tid", "TID", 7, 0, rank, func(r R, th *theme.Theme) (string, theme.Style) { return fmt.Sprint(of(r)), th.Text })
	c.Right = true
	return c
}

// newCores is the list of CPUs, in display order at first.
func (v *View) newCores() *list.List[cpuset.CPU, cpuset.CPU] {
	of := func(id cpuset.CPU) *model.CPU {
		if c := v.m.CPU(id); c != nil {
			return c
		}
		return &noFigures
	}
	column := func(id, title string, rank int, value func(c *model.CPU) float32) list.Column[cpuset.CPU] {
		return figures(id, title, 6, rank, func(id cpuset.CPU) (float64, bool) { f := value(of(id)); return float64(f), model.Known(f) }, rate)
	}
	number := words("cpu", "CPU", 4, 0, 0, func(id cpuset.CPU, th *theme.Theme) (string, theme.Style) { return fmt.Sprint(id), th.Strong })
	number.Right, number.Compare = true, cmp.Compare[cpuset.CPU]
	return list.New(func(id cpuset.CPU) cpuset.CPU { return id }, "", number,
		words("where", "WHERE", 16, 0, 2, func(id cpuset.CPU, th *theme.Theme) (string, theme.Style) { return v.where(id), th.Dim }),
		loaded(column("busy", "BUSY%", 1, func(c *model.CPU) float32 { return c.Busy * 100 }), func(id cpuset.CPU) float32 { return of(id).Busy }),
		list.Column[cpuset.CPU]{ID: "bar", Width: 10, Rank: 9, Append: func(dst []byte, id cpuset.CPU, th *theme.Theme, width int) []byte {
			return widget.AppendBar(dst, th, max(of(id).Busy, 0), width)
		}},
		column("irq", "IRQ%", 2, func(c *model.CPU) float32 { return (c.IRQ + c.SoftIRQ) * 100 }),
		column("in", "IN/s", 2, func(c *model.CPU) float32 { return c.InPerS }),
		column("out", "OUT/s", 2, func(c *model.CPU) float32 { return c.OutPerS }),
		figures("pinned", "PINNED", 6, 2, func(id cpuset.CPU) (int, bool) { return of(id).Pinned, true }, func(n int) string { return fmt.Sprint(n) }),
		list.Column[cpuset.CPU]{ID: "sparks", Title: "MIG IN", Tight: 12, Append: func(dst []byte, id cpuset.CPU, th *theme.Theme, width int) []byte {
			c, shown := of(id), min(width, model.HistoryLen)
			dst = widget.AppendSpark(dst, th, c.In[:], c.Ticks, v.top, shown)
			return widget.AppendSpaces(dst, width-shown)
		}})
}

// noFigures stands for a CPU that the sample does not have.
var noFigures = model.CPU{Busy: model.Unknown, InPerS: model.Unknown, OutPerS: model.Unknown, IRQ: model.Unknown}

// newTasks is the list of the tasks behind a cell.
func (v *View) newTasks() *list.List[kernel.TID, model.MoveTask] {
	count := func(t model.MoveTask) (float64, bool) { return float64(t.Count), true }
	return list.New(func(t model.MoveTask) kernel.TID { return t.TID }, "moves",
		tid(0, func(t model.MoveTask) kernel.TID { return t.TID }),
		words("name", "NAME", 20, 12, 1, func(t model.MoveTask, th *theme.Theme) (string, theme.Style) { return v.named(t.TID, th) }),
		figures("moves", "MIG", 6, 2, count, func(n float64) string { return fmt.Sprintf("%.0f", n) }),
		figures("rate", "MIG/s", 6, 2, count, func(n float64) string { return rate(v.table().PerS(uint64(n))) }),
		figures("share", "SHARE", 6, 2, count, func(n float64) string { return share(n / float64(v.tasksBehind().count)) }))
}

// mover is a task that moves; where moves are not told apart, A is the CPU that it was
// last on.
type mover struct {
	model.Mover
	perS float64
}

// mostMovers is how many of the tasks that move most are listed.
const mostMovers = 64

// rankMovers lists the tasks by moves in the window; where moves are not told
// apart, by their migrations in the last interval.
func (v *View) rankMovers() {
	v.ranked.of(bookKey{v.m.Sample.Seq, v.span, -1}, func() (n int) {
		var out []mover
		if v.moves.Have() {
			list, took := v.moves.Movers(spans[v.span], v.grouped(model.ByCPU).MoveGroups, mostMovers)
			for _, m := range list {
				out = append(out, mover{m, float64(m.Count) / max(took.Seconds(), 1e-9)})
			}
		} else {
			for i := range v.m.Tasks {
				if t, perS := v.m.Sample.Tasks[i], v.m.Tasks[i].MigPerS; model.Known(perS) && perS > 0 {
					out = append(out, mover{model.Mover{TID: t.TID, A: cpuset.CPU(t.LastCPU)}, float64(perS)})
				}
			}
		}
		v.movers.SetColumns(v.moverColumns())
		v.movers.Load(out, true)
		return len(out)
	})
}

// newMovers is the list of the tasks that move most.
func (v *View) newMovers() *list.List[kernel.TID, mover] {
	return list.New(func(m mover) kernel.TID { return m.TID }, "rate", v.moverColumns()...)
}

// moverColumns are those of movers; where moves are not told apart, only the CPU of each
// is known.
func (v *View) moverColumns() []list.Column[mover] {
	out := []list.Column[mover]{
		words("name", "TOP MOVERS", 24, 12, 0, func(m mover, th *theme.Theme) (string, theme.Style) { return v.named(m.TID, th) }),
		tid(4, func(m mover) kernel.TID { return m.TID }),
		figures("rate", "MIG/s", 6, 1, func(m mover) (float64, bool) { return m.perS, true }, rate),
	}
	if v.moves.Have() {
		out = append(out, words("between", "BETWEEN", 10, 9, 2, func(m mover, th *theme.Theme) (string, theme.Style) {
			return betweenCPUs(m.Mover, th), th.Text
		}), words("distance", "DISTANCE", 13, 0, 3, func(m mover, th *theme.Theme) (string, theme.Style) {
			return widget.DistanceLetter(m.Class) + " " + m.Class.String(), widget.DistanceStyle(th, m.Class)
		}))
	} else {
		out = append(out, words("on", "CPU", 9, 7, 2, func(m mover, th *theme.Theme) (string, theme.Style) { return fmt.Sprintf("on %d", m.A), th.Text }))
	}
	return append(out, list.Column[mover]{ID: "bar", Tight: 1, Append: func(dst []byte, m mover, th *theme.Theme, width int) []byte {
		cells := 0
		if most := v.movers.Rows()[0].perS; width > leastBar && most > 0 {
			cells = max(int(m.perS/most*float64(min(width, mostBar))+0.5), 1)
		}
		return widget.AppendSpaces(th.Dim.Append(dst, strings.Repeat(th.Bar[len(th.Bar)-1], cells)), width-cells)
	}})
}

// Lengths of the longest mover's bar.
const leastBar, mostBar = 7, 60

// betweenCPUs names the pair of CPUs with at least half of a task's moves, else
// how many CPUs it was on.
func betweenCPUs(m model.Mover, th *theme.Theme) string {
	arrow := th.Arrow
	switch {
	case 2*(m.Out+m.Back) < m.Count:
		return fmt.Sprintf("%d CPUs", m.CPUs)
	case m.Back > 0 && th.ASCII:
		arrow = "<>"
	case m.Back > 0:
		arrow = "⇄"
	}
	return fmt.Sprintf("%d%s%d", m.A, arrow, m.B)
}

// entryKey names an entry of the ledger.
type entryKey struct {
	kind sample.StayKind
	tid  kernel.TID
	num  int
}

// newLedger is a list of what took a CPU's time.
func (v *View) newLedger() *list.List[entryKey, model.LedgerEntry] {
	run := func(e model.LedgerEntry) (time.Duration, bool) { return e.Run, true }
	seconds := func() float64 { return max(v.booked.value.Span.Seconds(), 1e-9) }
	return list.New(func(e model.LedgerEntry) entryKey { return entryKey{e.Kind, e.TID, e.Number} }, "share",
		words("what", "TASK OR IRQ", 30, 20, 0, func(e model.LedgerEntry, th *theme.Theme) (string, theme.Style) { return v.what(&e), th.Text }),
		loaded(figures("share", "SHARE", 6, 1, run, func(d time.Duration) string { return share(min(1, d.Seconds()/seconds())) }),
			func(e model.LedgerEntry) float32 { return v.booked.value.Share(&e) }),
		figures("time", "TIME", 8, 6, run, duration),
		figures("waited", "WAITED", 7, 3, func(e model.LedgerEntry) (time.Duration, bool) { return e.Wait, e.Kind == sample.StayTask }, duration),
		figures("longest", "LONGEST", 7, 4, func(e model.LedgerEntry) (time.Duration, bool) { return e.Longest, true }, duration),
		figures("times", "TIMES/s", 7, 5, func(e model.LedgerEntry) (float64, bool) { return float64(e.Times) / seconds(), true }, rate),
		words("remedy", "REMEDY", 0, 16, 0, func(e model.LedgerEntry, th *theme.Theme) (string, theme.Style) {
			advice := v.advise(&e)
			if advice.movable {
				return advice.brief, th.Accent
			}
			return advice.brief, th.Dim
		}))
}

// newOnCPU is the list of the tasks last seen on a CPU: what is known without a ledger.
func (v *View) newOnCPU() *list.List[kernel.TID, field.Row] {
	columns := []list.Column[field.Row]{words("name", "LAST SEEN ON THIS CPU", 48, 21, 0,
		func(r field.Row, th *theme.Theme) (string, theme.Style) { return comm(r.Task()), th.Text })}
	for rank, id := range []string{"tid", "cpu_percent", "migrations_per_s", "run_delay_percent"} {
		c, _ := field.Lookup(id)
		columns = append(columns, list.Column[field.Row]{ID: id, Title: c.Title, Width: 7, Rank: rank, Right: true, Desc: true,
			Compare: func(a, b field.Row) int { return cmp.Compare(a.Rates().CPUPercent, b.Rates().CPUPercent) },
			Append: func(dst []byte, r field.Row, th *theme.Theme, width int) []byte {
				r.ASCII = th.ASCII
				style := th.Text
				if c.Zero(r) {
					style = th.Dim
				}
				return style.Close(field.AppendCell(style.Open(dst), c, r, width))
			}})
	}
	return list.New(func(r field.Row) kernel.TID { return r.Task().TID }, "cpu_percent", columns...)
}
