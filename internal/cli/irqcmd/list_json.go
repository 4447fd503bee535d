package irqcmd

import (
	"fmt"
	"io"
	"math"

	"piton/internal/cli/output"
	"piton/internal/irq"
)

// irqJSON prints an object a line.
func irqJSON(w io.Writer, t *irq.Table, filter string) {
	var l output.Line
	shown := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if !r.Match(filter) {
			continue
		}
		shown++
		l.Start("irq").Add("v", output.Version).Add("irq", r.Number).Add("name", r.Handlers())
		addRate(&l, r.Counts, r.Rate, t)
		addFacts(&l, r)
		l.Write(w)
	}
	for i := range t.Named {
		r := &t.Named[i]
		if !r.Match(filter) {
			continue
		}
		l.Start("irq").Add("v", output.Version).Add("irq", nil).Add("name", r.Name)
		addRate(&l, r.Counts, r.Rate, t)
		l.Add("text", r.Text).Write(w)
	}
	for i := range t.SoftIRQs {
		r := &t.SoftIRQs[i]
		if !r.Match(filter) {
			continue
		}
		l.Start("softirq").Add("name", r.Name)
		addRate(&l, r.Counts, r.Rate, t)
		l.Write(w)
	}
	l.Start("end").Add("irqs", shown).Add("interval_s", t.Elapsed.Seconds()).
		Add("default_affinity", maskOrNull(t.Default)).Write(w)
}

// addRate adds what a line counted.
func addRate(l *output.Line, counts []uint64, r irq.Rate, t *irq.Table) {
	l.Add("count", irq.Total(counts))
	if !r.OK {
		l.Add("per_s", nil).Add("top_cpu", nil).Add("top_per_s", nil).Add("by_cpu", nil)
		return
	}
	var some []int // of the CPUs that had any
	for i, perS := range r.ByCPU {
		if perS != 0 {
			some = append(some, i)
		}
	}
	l.Add("per_s", r.PerS).Add("top_cpu", output.NumberOrNull(int(r.Top))).Add("top_per_s", output.OrNull(r.TopPerS, r.Top >= 0)).
		AddObject("by_cpu", len(some), func(i int) (string, any) {
			return fmt.Sprint(t.CPUs[some[i]]), math.Round(r.ByCPU[some[i]]*1e3) / 1e3
		})
}

// addFacts adds what is known of a numbered line.
func addFacts(l *output.Line, r *irq.Row) {
	l.Add("affinity", maskOrNull(r.Requested)).Add("effective", maskOrNull(r.Effective)).Add("hint", maskOrNull(r.Hint)).
		Add("control", r.Control.String()).Add("movable", output.OrNull(r.Control == irq.Settable, r.Control != irq.ControlUnknown)).
		Add("managed", output.OrNull(r.Control == irq.Managed, r.Control != irq.ControlUnknown)).
		Add("node", output.NumberOrNull(r.Node)).Add("device", output.TextOrNull(r.Device.Name())).Add("address", output.TextOrNull(r.Device.Address)).
		Add("driver", output.TextOrNull(r.Device.Driver)).Add("queue", output.TextOrNull(r.Queue.Flow.String())).
		Add("queue_index", output.OrNull(r.Queue.Index, r.Queue.Flow != irq.NoQueue)).Add("chip", output.TextOrNull(r.Chip)).
		Add("trigger", output.TextOrNull(r.Type)).Add("actions", output.List(r.Actions)).Add("unhandled", output.OrNull(r.Spurious.Unhandled, r.Spurious.OK))
	tids := make([]any, len(r.Threads))
	for i, t := range r.Threads {
		tids[i] = int(t.TID)
	}
	l.Add("threads", tids)
}

func maskOrNull(m irq.Mask) any { return output.OrNull(m.String(), m.OK) }
