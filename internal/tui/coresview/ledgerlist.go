package coresview

import (
	"fmt"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
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

// selectedEntry is the entry under the ledger's cursor; nil when it is empty.
func (v *View) selectedEntry() *model.LedgerEntry {
	l := v.book(v.cpu)
	v.followEntry(l)
	if len(l.Entries) == 0 {
		return nil
	}
	return &l.Entries[v.ledger.Cursor]
}

// followEntry keeps the cursor on its entry; at the top it stays on the one with
// most time.
func (v *View) followEntry(l *model.Ledger) {
	if v.ledger.Cursor > 0 {
		if i := slices.IndexFunc(l.Entries, func(e model.LedgerEntry) bool { return keyOf(&e) == v.entry }); i >= 0 {
			v.ledger.Cursor = i
		}
	}
	v.ledger.Clamp(len(l.Entries))
	if len(l.Entries) > 0 {
		v.entry = keyOf(&l.Entries[v.ledger.Cursor])
	}
}

// renderLedger lists what took the CPU's time.
func (v *View) renderLedger(width, height int, th *theme.Theme) string {
	l := v.book(v.cpu)
	v.followEntry(l)
	body := v.ledger.Body(len(l.Entries), func(i int, selected bool) string {
		return v.ledgerRow(l, &l.Entries[i], width, th).Item(th, width, selected)
	})
	foot := v.ledgerFoot(l, width, th)
	head := v.ledgerHead(l, width, th)
	onCPU := func(width, height int) []string { return v.renderOnCPU(v.cpu, width, height, th) }
	if !v.stays.Have() {
		return rows.Stack(width, height, head, len(l.Entries), fill(func(h int) []string { return onCPU(width, h) }), foot)
	}
	return rows.Stack(width, height, head, len(l.Entries), v.over(body, len(l.Entries), width, th, onCPU), foot)
}

// renderBeside is a CPU's ledger without a cursor, below or beside another list.
func (v *View) renderBeside(cpu cpuset.CPU, width, height int, th *theme.Theme) []string {
	v.beside = cpu
	l := v.book(cpu)
	lines := v.ledgerHead(l, width, th)
	if !v.stays.Have() {
		lines = append(lines, v.renderOnCPU(cpu, width, height-len(lines), th)...)
	}
	for i := range l.Entries[:max(min(len(l.Entries), height-len(lines)), 0)] {
		lines = append(lines, v.ledgerRow(l, &l.Entries[i], width, th).Item(th, width, false))
	}
	return lines[:min(len(lines), height)]
}

func (v *View) ledgerHead(l *model.Ledger, width int, th *theme.Theme) []string {
	var title rows.Row
	title.Add(th.Title, fmt.Sprintf(" cpu %d: CPU time by task", l.CPU))
	if !v.stays.Have() {
		return append([]string{title.Render(th, width)}, rows.Indented(th, th.Dim, v.waiting(), width-1)...)
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
	var h rows.Row
	h.Left(th, th.Header, "TASK OR IRQ", whatWidth(width))
	h.Right(th, th.Header, "SHARE", ledgerColumn)
	if width >= timeFrom {
		h.Right(th, th.Header, "TIME", ledgerColumn)
	}
	for _, t := range []string{"WAITED", "LONGEST", "TIMES/s"} {
		h.Right(th, th.Header, t, ledgerColumn)
	}
	h.Add(th.Text, "  ")
	h.Left(th, th.Header, "REMEDY", remedyWidth(width))
	return []string{title.Render(th, width), h.Item(th, width, false)}
}

// Widths of the ledger.
const (
	ledgerColumn = 8  // of a column of figures
	timeFrom     = 90 // windows from this width on show the time beside the share
)

func whatWidth(width int) int {
	if width >= 110 {
		return 30
	}
	return 20
}

func remedyWidth(width int) int {
	used := 3 + whatWidth(width) + 4*ledgerColumn
	if width >= timeFrom {
		used += ledgerColumn
	}
	return min(max(width-used, 0), 40)
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

func (v *View) ledgerRow(l *model.Ledger, e *model.LedgerEntry, width int, th *theme.Theme) rows.Row {
	var r rows.Row
	share := l.Share(e)
	r.Left(th, th.Text, v.what(e), whatWidth(width))
	r.Right(th, th.Load(share), percent(float64(share)), ledgerColumn)
	if width >= timeFrom {
		r.Right(th, th.Text, duration(e.Run), ledgerColumn)
	}
	wait := duration(e.Wait)
	if e.Kind != sample.StayTask {
		wait = th.None
	}
	r.Right(th, th.Text, wait, ledgerColumn)
	r.Right(th, th.Text, duration(e.Longest), ledgerColumn)
	r.Right(th, th.Text, rate(perSecond(e.Times, l.Span)), ledgerColumn)
	r.Add(th.Text, "  ")
	advice := v.advise(e)
	style := th.Dim
	if advice.movable {
		style = th.Accent
	}
	r.Add(style, advice.brief)
	return r
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
		name = comm(v.taskOf(e.TID))
	}
	return fmt.Sprintf("%d %s", e.TID, name)
}

// ledgerFoot is the remedy for the entry under the cursor, and the keys.
func (v *View) ledgerFoot(l *model.Ledger, width int, th *theme.Theme) []string {
	pairs := []string{"w", "window", "← →", "CPU", "Esc", "close"}
	line := ""
	if len(l.Entries) > 0 {
		e := &l.Entries[v.ledger.Cursor]
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
