package cli

import (
	"fmt"
	"io"
	"math"

	"piton/internal/irq"
)

// irqJSON prints an object a line.
func irqJSON(w io.Writer, t *irq.Table, filter string) {
	var l line
	shown := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if !r.Match(filter) {
			continue
		}
		shown++
		l.start("irq").add("v", Version).add("irq", r.Number).add("name", r.Handlers())
		l.addRate(r.Counts, r.Rate, t)
		l.addFacts(r)
		l.write(w)
	}
	for i := range t.Named {
		r := &t.Named[i]
		if !r.Match(filter) {
			continue
		}
		l.start("irq").add("v", Version).add("irq", nil).add("name", r.Name)
		l.addRate(r.Counts, r.Rate, t)
		l.add("text", r.Text).write(w)
	}
	for i := range t.SoftIRQs {
		r := &t.SoftIRQs[i]
		if !r.Match(filter) {
			continue
		}
		l.start("softirq").add("name", r.Name)
		l.addRate(r.Counts, r.Rate, t)
		l.write(w)
	}
	l.start("end").add("irqs", shown).add("interval_s", t.Elapsed.Seconds()).
		add("default_affinity", maskOrNull(t.Default)).write(w)
}

// addRate adds what a line counted.
func (l *line) addRate(counts []uint64, r irq.Rate, t *irq.Table) {
	l.add("count", irq.Total(counts))
	if !r.OK {
		l.add("per_s", nil).add("top_cpu", nil).add("top_per_s", nil).add("by_cpu", nil)
		return
	}
	var some []int // of the CPUs that had any
	for i, perS := range r.ByCPU {
		if perS != 0 {
			some = append(some, i)
		}
	}
	l.add("per_s", r.PerS).add("top_cpu", numberOrNull(int(r.Top))).add("top_per_s", orNull(r.TopPerS, r.Top >= 0)).
		addObject("by_cpu", len(some), func(i int) (string, any) {
			return fmt.Sprint(t.CPUs[some[i]]), math.Round(r.ByCPU[some[i]]*1e3) / 1e3
		})
}

// addFacts adds what is known of a numbered line.
func (l *line) addFacts(r *irq.Row) {
	l.add("affinity", maskOrNull(r.Requested)).add("effective", maskOrNull(r.Effective)).add("hint", maskOrNull(r.Hint)).
		add("control", r.Control.String()).add("movable", orNull(r.Control == irq.Settable, r.Control != irq.ControlUnknown)).
		add("managed", orNull(r.Control == irq.Managed, r.Control != irq.ControlUnknown)).
		add("node", numberOrNull(r.Node)).add("device", textOrNull(r.Device.Name())).add("address", textOrNull(r.Device.Address)).
		add("driver", textOrNull(r.Device.Driver)).add("queue", textOrNull(r.Queue.Flow.String())).
		add("queue_index", orNull(r.Queue.Index, r.Queue.Flow != irq.NoQueue)).add("chip", textOrNull(r.Chip)).
		add("trigger", textOrNull(r.Type)).add("actions", list(r.Actions)).add("unhandled", orNull(r.Spurious.Unhandled, r.Spurious.OK))
	tids := make([]any, len(r.Threads))
	for i, t := range r.Threads {
		tids[i] = int(t.TID)
	}
	l.add("threads", tids)
}

func maskOrNull(m irq.Mask) any { return orNull(m.String(), m.OK) }
