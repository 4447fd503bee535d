package coresview

import (
	"cmp"
	"fmt"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// entryKey names an entry of the ledger.
type entryKey struct {
	kind sample.StayKind
	tid  kernel.TID
	num  int
}

func keyOf(e *model.LedgerEntry) entryKey { return entryKey{e.Kind, e.TID, e.Number} }

// newLedger is a list of what took a CPU's time.
func (v *View) newLedger() *list.List[entryKey, model.LedgerEntry] {
	text := func(id, title string, rank, tight int, compare func(a, b *model.LedgerEntry) int, f func(e *model.LedgerEntry, th *theme.Theme) string) list.Column[model.LedgerEntry] {
		c := figures(id, title, func(a, b model.LedgerEntry) int { return compare(&a, &b) },
			func(e model.LedgerEntry, th *theme.Theme) string { return f(&e, th) })
		c.Rank, c.Tight = rank, tight
		return c
	}
	share := text("share", "SHARE", 1, 6, func(a, b *model.LedgerEntry) int { return cmp.Compare(a.Run, b.Run) },
		func(e *model.LedgerEntry, _ *theme.Theme) string { return percent(float64(v.booked.ledger.Share(e))) })
	style := share.Cell
	share.Cell = func(e model.LedgerEntry, th *theme.Theme, width int) (string, theme.Style) {
		s, _ := style(e, th, width)
		return s, th.Load(v.booked.ledger.Share(&e))
	}
	return list.New(func(e model.LedgerEntry) entryKey { return keyOf(&e) }, "share",
		list.Column[model.LedgerEntry]{ID: "what", Title: "TASK OR IRQ", Width: 30, Tight: 20,
			Cell: func(e model.LedgerEntry, th *theme.Theme, _ int) (string, theme.Style) { return v.what(&e), th.Text }},
		share,
		text("time", "TIME", 6, 8, func(a, b *model.LedgerEntry) int { return cmp.Compare(a.Run, b.Run) },
			func(e *model.LedgerEntry, _ *theme.Theme) string { return duration(e.Run) }),
		text("waited", "WAITED", 3, 7, func(a, b *model.LedgerEntry) int { return cmp.Compare(a.Wait, b.Wait) },
			func(e *model.LedgerEntry, th *theme.Theme) string {
				if e.Kind != sample.StayTask {
					return th.None
				}
				return duration(e.Wait)
			}),
		text("longest", "LONGEST", 4, 7, func(a, b *model.LedgerEntry) int { return cmp.Compare(a.Longest, b.Longest) },
			func(e *model.LedgerEntry, _ *theme.Theme) string { return duration(e.Longest) }),
		text("times", "TIMES/s", 5, 7, func(a, b *model.LedgerEntry) int { return cmp.Compare(a.Times, b.Times) },
			func(e *model.LedgerEntry, _ *theme.Theme) string {
				return rate(perSecond(e.Times, v.booked.ledger.Span))
			}),
		list.Column[model.LedgerEntry]{ID: "remedy", Title: "REMEDY", Tight: 16,
			Cell: func(e model.LedgerEntry, th *theme.Theme, _ int) (string, theme.Style) {
				advice := v.advise(&e)
				if advice.movable {
					return advice.brief, th.Accent
				}
				return advice.brief, th.Dim
			}})
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

// renderLedger lists what took the CPU's time.
func (v *View) renderLedger(width, height int, th *theme.Theme) string {
	head := v.ledgerHead(v.showLedger(v.ledger, v.cpu), v.ledger.Position(), width, th)
	foot := v.ledgerFoot(width, th)
	onCPU := func(width, height int) []string { return v.renderOnCPU(v.cpu, width, height, th) }
	if !v.stays.Have() {
		return v.stack(width, height, head, v.ledger, fill(func(h int) []string { return onCPU(width, h) }), foot)
	}
	return v.stack(width, height, head, v.ledger, v.over(v.ledger, width, th, onCPU), foot)
}

// renderBeside is a CPU's ledger without a cursor, below or beside another list.
func (v *View) renderBeside(cpu cpuset.CPU, width, height int, th *theme.Theme) []string {
	v.beside = cpu
	lines := v.ledgerHead(v.showLedger(v.besides, cpu), "", width, th)
	if !v.stays.Have() {
		lines = append(lines, v.renderOnCPU(cpu, width, height-len(lines), th)...)
	} else {
		lines = append(lines, v.besides.Render(width, height-len(lines), th)...)
	}
	return lines[:min(len(lines), height)]
}

func (v *View) ledgerHead(l *model.Ledger, position string, width int, th *theme.Theme) []string {
	var title rows.Row
	title.Add(th.Title, fmt.Sprintf(" cpu %d: CPU time by task", l.CPU))
	if !v.stays.Have() {
		return append([]string{title.Render(th, width)}, rows.Indented(th, th.Dim, v.waiting(), width-1)...)
	}
	if position != "" {
		title.Add(th.Strong, "  "+position)
	}
	title.Add(th.Text, "  "+lastSpan(l.Span))
	g := v.grouped(model.ByCPU)
	if i := g.Index(l.CPU); i >= 0 && g.Level == model.ByCPU {
		if p := parent(g, i, false); p != "" {
			title.Add(th.Dim, "  "+p)
		}
	}
	if l.Idle > 0 {
		title.Add(th.Dim, "  idle "+percent(l.Idle.Seconds()/l.Span.Seconds()))
	}
	return []string{title.Render(th, width)}
}

// waiting is the reason why there are no figures yet.
func (v *View) waiting() string {
	if c := collector(v.m.Sample, "ledger"); c != nil && c.Err != nil {
		return "CPU time by task needs eBPF: " + c.Err.Error()
	}
	if v.waited >= 3 {
		return "CPU time by task needs eBPF: " + v.why()
	}
	return "Counting started; the first figures come with the next sample."
}

func perSecond(n uint64, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(n) / span.Seconds()
}

// what names an entry: "3641 nqueens", "irq 24 eth0", "softirq NET_RX".
func (v *View) what(e *model.LedgerEntry) string {
	switch e.Kind {
	case sample.StayIRQ:
		return fmt.Sprintf("irq %d %s", e.Number, e.Name)
	case sample.StaySoftIRQ:
		if e.Name == "" {
			return fmt.Sprintf("softirq %d", e.Number)
		}
		return "softirq " + e.Name
	}
	name := e.Name
	if name == "" {
		name = comm(v.Task(e.TID))
	}
	return fmt.Sprintf("%d %s", e.TID, name)
}

// ledgerFoot is the remedy for the entry under the cursor, and the keys.
func (v *View) ledgerFoot(width int, th *theme.Theme) []string {
	pairs := []string{"w", "window", "← →", "CPU", "Esc", "close"}
	line := ""
	if e := v.selectedEntry(); e != nil {
		advice := v.advise(e)
		if e.Kind == sample.StayTask {
			pairs = append([]string{"Enter", "show its process"}, pairs...)
		}
		if advice.movable && v.o.Pin != nil {
			pairs = append([]string{"p", "pin"}, pairs...)
		}
		var r rows.Row
		r.Add(th.Strong, " "+v.what(e))
		r.Add(th.Text, ": "+advice.full)
		line = r.Render(th, width)
	}
	return []string{line, keys(th, width, pairs...)}
}
