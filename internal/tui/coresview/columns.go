package coresview

import (
	"fmt"
	"slices"
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

func words[R any](id, title string, width, tight, rank int, text func(R) string) field.Column[R] {
	return field.Column[R]{ID: id, Title: title, Width: width, Tight: tight, Rank: rank, Text: text}
}

// figures is a column of figures, the largest first.
func figures[R any, V float64 | time.Duration](id, title string, tight, rank int, value func(R) V, text func(V) string) field.Column[R] {
	return field.Column[R]{ID: id, Title: title, Width: 8, Tight: tight, Rank: rank, Right: true, Desc: true,
		Value: func(r R) any { return float64(value(r)) }, Text: func(r R) string { return text(value(r)) }}
}

func tid[R any](rank int, of func(R) kernel.TID) field.Column[R] {
	return field.Column[R]{ID: "tid", Title: "TID", Width: 7, Rank: rank, Right: true, Names: true,
		Text: func(r R) string { return fmt.Sprint(of(r)) }}
}

// always is a tone for all rows.
func always[R any](tone field.Tone) func(R) field.Tone { return func(R) field.Tone { return tone } }

func (v *View) newCores() *list.List[cpuset.CPU, *model.CPU] {
	columns := field.Pick(field.CPUColumns, "cpu", "busy", "in_per_s", "out_per_s", "pinned")
	columns[0].Tone = always[*model.CPU](field.Strong)
	l := list.New(func(c *model.CPU) cpuset.CPU { return c.ID }, "", slices.Concat(columns[:1], []field.Column[*model.CPU]{
		words("where", "WHERE", 16, 0, 2, func(c *model.CPU) string { return v.where(c.ID) }).Toned(always[*model.CPU](field.Dim)),
		columns[1],
		words[*model.CPU]("bar", "", 10, 0, 9, nil), field.IRQShare,
	}, columns[2:], []field.Column[*model.CPU]{words[*model.CPU]("sparks", "MIG IN", 0, 12, 0, nil)})...)
	l.Draws = map[string]list.Draw[*model.CPU]{
		"bar": func(dst []byte, c *model.CPU, th *theme.Theme, width int) []byte {
			return widget.AppendBar(dst, th, max(c.Busy, 0), width)
		},
		"sparks": func(dst []byte, c *model.CPU, th *theme.Theme, width int) []byte {
			shown := min(width, model.HistoryLen)
			dst = widget.AppendSpark(dst, th, c.In[:], c.Ticks, v.top, shown)
			return widget.AppendSpaces(dst, width-shown)
		}}
	return l
}

// loadCores lists the online CPUs, also those that the sample does not have.
func (v *View) loadCores() {
	var rows []*model.CPU
	for _, id := range v.online() {
		c := v.m.CPU(id)
		if c == nil {
			c = &model.CPU{ID: id, Busy: model.Unknown, InPerS: model.Unknown, OutPerS: model.Unknown, IRQ: model.Unknown}
		}
		rows = append(rows, c)
	}
	v.cores.Load(rows, true)
}

func (v *View) newTasks() *list.List[kernel.TID, model.MoveTask] {
	count := func(t model.MoveTask) float64 { return float64(t.Count) }
	return list.New(func(t model.MoveTask) kernel.TID { return t.TID }, "moves",
		tid(0, func(t model.MoveTask) kernel.TID { return t.TID }),
		words("name", "NAME", 20, 12, 1, func(t model.MoveTask) string { return v.named(t.TID) }).Toned(func(t model.MoveTask) field.Tone { return v.lives(t.TID) }),
		figures("moves", "MIG", 6, 2, count, func(n float64) string { return fmt.Sprintf("%.0f", n) }),
		figures("rate", "MIG/s", 6, 2, count, func(n float64) string { return field.Rate(v.table().PerS(uint64(n))) }),
		figures("share", "SHARE", 6, 2, count, func(n float64) string { return share(n / float64(v.tasksBehind().count)) }))
}

// mover is a task that moves; where moves are not told apart, A is the CPU that it was
// last on.
type mover struct {
	model.Mover
	perS float64
}

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

func (v *View) newMovers() *list.List[kernel.TID, mover] {
	l := list.New(func(m mover) kernel.TID { return m.TID }, "rate", v.moverColumns()...)
	l.Draws = map[string]list.Draw[mover]{
		"distance": func(dst []byte, m mover, th *theme.Theme, width int) []byte {
			text := widget.DistanceLetter(m.Class) + " " + m.Class.String()
			return append(dst, widget.Fit(widget.DistanceStyle(th, m.Class).Render(text), width, th.Ellipsis)...)
		},
		"bar": func(dst []byte, m mover, th *theme.Theme, width int) []byte {
			cells := 0
			if most := v.movers.Rows()[0].perS; width > leastBar && most > 0 {
				cells = max(int(m.perS/most*float64(min(width, mostBar))+0.5), 1)
			}
			return widget.AppendSpaces(th.Dim.Append(dst, strings.Repeat(th.Bar[len(th.Bar)-1], cells)), width-cells)
		}}
	return l
}

// moverColumns are those of movers; where moves are not told apart, only the CPU of each
// is known.
func (v *View) moverColumns() []field.Column[mover] {
	out := []field.Column[mover]{
		words("name", "TOP MOVERS", 24, 12, 0, func(m mover) string { return v.named(m.TID) }).Toned(func(m mover) field.Tone { return v.lives(m.TID) }),
		tid(4, func(m mover) kernel.TID { return m.TID }),
		figures("rate", "MIG/s", 6, 1, func(m mover) float64 { return m.perS }, field.Rate),
	}
	if v.moves.Have() {
		out = append(out, words("between", "BETWEEN", 10, 9, 2, mover.between), words[mover]("distance", "DISTANCE", 13, 0, 3, nil))
	} else {
		out = append(out, words("on", "CPU", 9, 7, 2, func(m mover) string { return fmt.Sprintf("on %d", m.A) }))
	}
	return append(out, words[mover]("bar", "", 0, 1, 0, nil))
}

// Lengths of the longest mover's bar.
const leastBar, mostBar = 7, 60

// between names the pair of CPUs with at least half of the task's moves, else
// how many CPUs it was on.
func (m mover) between() string {
	switch {
	case 2*(m.Out+m.Back) < m.Count:
		return fmt.Sprintf("%d CPUs", m.CPUs)
	case m.Back > 0:
		return fmt.Sprintf("%d⇄%d", m.A, m.B)
	}
	return fmt.Sprintf("%d→%d", m.A, m.B)
}

// entryKey names an entry of the ledger.
type entryKey struct {
	kind sample.RunKind
	tid  kernel.TID
	num  int
}

func (v *View) newLedger() *list.List[entryKey, model.LedgerEntry] {
	run := func(e model.LedgerEntry) time.Duration { return e.Run }
	seconds := func() float64 { return max(v.booked.value.Span.Seconds(), 1e-9) }
	used := figures("share", "SHARE", 6, 1, run, func(d time.Duration) string { return share(min(1, d.Seconds()/seconds())) })
	used.Tone = func(e model.LedgerEntry) field.Tone { return field.Load(v.booked.value.Share(&e)) }
	waited := figures("waited", "WAITED", 7, 3, func(e model.LedgerEntry) time.Duration { return e.Wait }, duration)
	value, text := waited.Value, waited.Text
	isTask := func(e model.LedgerEntry) bool { return e.Kind == sample.RunOfTask }
	waited.Value = func(e model.LedgerEntry) any { return field.Known(value(e), isTask(e)) }
	waited.Text = func(e model.LedgerEntry) string { return field.Plain(field.Known(text(e), isTask(e))) }
	return list.New(func(e model.LedgerEntry) entryKey { return entryKey{e.Kind, e.TID, e.Number} }, "share",
		words("what", "TASK OR IRQ", 30, 20, 0, func(e model.LedgerEntry) string { return v.what(&e) }),
		used,
		figures("time", "TIME", 8, 6, run, duration),
		waited,
		figures("longest", "LONGEST", 7, 4, func(e model.LedgerEntry) time.Duration { return e.Longest }, duration),
		figures("times", "TIMES/s", 7, 5, func(e model.LedgerEntry) float64 { return float64(e.Times) / seconds() }, field.Rate),
		words("remedy", "REMEDY", 0, 16, 0, func(e model.LedgerEntry) string { return v.advise(&e).brief }).Toned(func(e model.LedgerEntry) field.Tone {
			if v.advise(&e).movable {
				return field.Accent
			}
			return field.Dim
		}))
}

// newOnCPU is the list of the tasks last seen on a CPU: what is known without a ledger.
func (v *View) newOnCPU() *list.List[kernel.TID, field.Row] {
	columns := []field.TaskColumn{words("name", "LAST SEEN ON THIS CPU", 48, 21, 0, func(r field.Row) string { return comm(r.Task()) })}
	draws := map[string]list.Draw[field.Row]{}
	for rank, id := range []string{"tid", "cpu_percent", "migrations_per_s", "run_delay_percent"} {
		c, _ := field.Lookup(id)
		column := *c
		column.Width, column.Rank = 7, rank
		columns = append(columns, column)
		draws[id] = func(dst []byte, r field.Row, th *theme.Theme, width int) []byte {
			r.ASCII = th.ASCII
			style := th.Text
			if c.Zero(r) {
				style = th.Dim
			}
			return style.Close(field.AppendCell(style.Open(dst), c, r, width))
		}
	}
	l := list.New(func(r field.Row) kernel.TID { return r.Task().TID }, "cpu_percent", columns...)
	l.Draws = draws
	return l
}
