package irq

import (
	"cmp"
	"slices"
	"time"

	"piton/internal/cpuset"
)

// Rate is how often something happened between two Snapshots. OK is false where
// there is no earlier count to compare with: the first time, a new line, other
// handlers, counters that went backwards.
type Rate struct {
	OK      bool
	PerS    float64    // of all CPUs
	ByCPU   []float64  // per second, by the CPUs of the Table; nil for what is not counted by CPU
	Top     cpuset.CPU // the CPU with most of it, -1 if there was none
	TopPerS float64
}

// Row is an interrupt line with its rate.
type Row struct {
	IRQ
	Rate Rate
}

// NamedRow is a named line with its rate.
type NamedRow struct {
	Named
	Rate Rate
}

// Table is the interrupts of a machine with their rates over an interval.
type Table struct {
	Elapsed  time.Duration // 0: the first reading, no rates
	CPUs     []cpuset.CPU
	Rows     []Row // in the order of their numbers
	Named    []NamedRow
	SoftIRQs []NamedRow
	Default  Mask
	Odd      error // a line was not understood; the others are sound
}

// Next makes the Table of cur; prev is the Snapshot before it, nil for the first.
func Next(prev, cur *Snapshot) Table {
	t := Table{CPUs: cur.CPUs, Default: cur.Default, Odd: cur.Odd}
	var d differ
	if prev != nil && cur.At > prev.At {
		t.Elapsed = cur.At - prev.At
		d = newDiffer(prev.CPUs, cur.CPUs, t.Elapsed)
	}
	before := map[int]*IRQ{}
	if prev != nil {
		for i := range prev.IRQs {
			before[prev.IRQs[i].Number] = &prev.IRQs[i]
		}
	}
	for _, line := range cur.IRQs {
		row := Row{IRQ: line, Rate: Rate{Top: -1}}
		if old := before[line.Number]; old != nil && old.Text == line.Text {
			row.Rate = d.rate(old.Counts, line.Counts)
		}
		t.Rows = append(t.Rows, row)
	}
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return cmp.Compare(a.Number, b.Number) })
	if prev == nil {
		prev = &Snapshot{}
	}
	t.Named = d.named(prev.Named, cur.Named)
	t.SoftIRQs = d.named(prev.SoftIRQs, cur.SoftIRQs)
	return t
}

// differ compares counts of two Snapshots, whose CPUs may differ (hotplug).
type differ struct {
	cpus    []cpuset.CPU
	from    []int // by column: the column of the same CPU before, or -1
	seconds float64
}

func newDiffer(before, now []cpuset.CPU, elapsed time.Duration) differ {
	d := differ{cpus: now, from: make([]int, len(now)), seconds: elapsed.Seconds()}
	for i, c := range now {
		d.from[i] = slices.Index(before, c)
	}
	return d
}

func (d *differ) named(before, now []Named) []NamedRow {
	old := map[string]*Named{}
	for i := range before {
		old[before[i].Name] = &before[i]
	}
	var rows []NamedRow
	for _, n := range now {
		row := NamedRow{Named: n, Rate: Rate{Top: -1}}
		if o := old[n.Name]; o != nil {
			row.Rate = d.rate(o.Counts, n.Counts)
		}
		rows = append(rows, row)
	}
	return rows
}

// rate compares the counts of one line.
func (d *differ) rate(before, now []uint64) Rate {
	r := Rate{Top: -1}
	if d.seconds == 0 || len(before) == 0 || len(now) == 0 {
		return r
	}
	if len(now) != len(d.cpus) { // a single count
		n, ok := delta(before[0], now[0])
		r.OK, r.PerS = ok, float64(n)/d.seconds
		return r
	}
	byCPU := make([]float64, len(now))
	for i, count := range now {
		from := d.from[i]
		if from < 0 || from >= len(before) { // it came online meanwhile
			continue
		}
		n, ok := delta(before[from], count)
		if !ok {
			return Rate{Top: -1}
		}
		byCPU[i] = float64(n) / d.seconds
		r.PerS += byCPU[i]
		if byCPU[i] > r.TopPerS {
			r.Top, r.TopPerS = d.cpus[i], byCPU[i]
		}
	}
	r.OK, r.ByCPU = true, byCPU
	return r
}

// delta is now - before. The kernel counts in 32 bits by CPU (kstat_irqs), which
// a timer at 1000 Hz wraps in 50 days; any other step backwards is a new count.
func delta(before, now uint64) (n uint64, ok bool) {
	const size, high, low = uint64(1) << 32, uint64(3) << 30, uint64(1) << 30
	switch {
	case now >= before:
		return now - before, true
	case before < size && before >= high && now < low:
		return now + size - before, true
	}
	return 0, false
}
