package cli

import (
	"fmt"
	"io"

	"piton/internal/irq"
)

// irqJSON prints an object a line.
func irqJSON(w io.Writer, t *irq.Table, filter string) error {
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
		if err := l.write(w); err != nil {
			return err
		}
	}
	for i := range t.Named {
		r := &t.Named[i]
		if !r.Match(filter) {
			continue
		}
		l.start("irq").add("v", Version).add("irq", nil).add("name", r.Name)
		l.addRate(r.Counts, r.Rate, t)
		if err := l.add("text", r.Text).write(w); err != nil {
			return err
		}
	}
	for i := range t.SoftIRQs {
		r := &t.SoftIRQs[i]
		if !r.Match(filter) {
			continue
		}
		l.start("softirq").add("name", r.Name)
		l.addRate(r.Counts, r.Rate, t)
		if err := l.write(w); err != nil {
			return err
		}
	}
	return l.start("end").add("irqs", shown).add("interval_s", t.Elapsed.Seconds()).
		add("default_affinity", maskOrNull(t.Default)).write(w)
}

// addRate adds what a line counted.
func (l *line) addRate(counts []uint64, r irq.Rate, t *irq.Table) {
	l.add("count", total(counts))
	if !r.OK {
		l.add("per_s", nil).add("top_cpu", nil).add("top_per_s", nil).add("by_cpu", nil)
		return
	}
	l.add("per_s", r.PerS)
	if r.Top < 0 {
		l.add("top_cpu", nil).add("top_per_s", nil)
	} else {
		l.add("top_cpu", int(r.Top)).add("top_per_s", r.TopPerS)
	}
	l.b = append(l.b, `,"by_cpu":{`...)
	first := true
	for i, perS := range r.ByCPU {
		if perS == 0 {
			continue
		}
		if !first {
			l.b = append(l.b, ',')
		}
		first = false
		l.b = fmt.Appendf(l.b, `"%d":%.3f`, t.CPUs[i], perS)
	}
	l.b = append(l.b, '}')
}

// addFacts adds what is known of a numbered line.
func (l *line) addFacts(r *irq.Row) {
	l.add("affinity", maskOrNull(r.Requested)).add("effective", maskOrNull(r.Effective)).add("hint", maskOrNull(r.Hint)).
		add("control", r.Control.String())
	if r.Control == irq.ControlUnknown {
		l.add("movable", nil).add("managed", nil)
	} else {
		l.add("movable", r.Control == irq.Settable).add("managed", r.Control == irq.Managed)
	}
	l.add("node", numberOrNull(r.Node)).add("device", textOrNull(r.Device.Name())).add("address", textOrNull(r.Device.Address)).
		add("driver", textOrNull(r.Device.Driver)).add("queue", textOrNull(r.Queue.Flow.String()))
	if r.Queue.Flow == irq.NoQueue {
		l.add("queue_index", nil)
	} else {
		l.add("queue_index", r.Queue.Index)
	}
	l.add("chip", textOrNull(r.Chip)).add("trigger", textOrNull(r.Type)).addList("actions", r.Actions)
	if r.Spurious.OK {
		l.add("unhandled", r.Spurious.Unhandled)
	} else {
		l.add("unhandled", nil)
	}
	tids := make([]int, len(r.Threads))
	for i, t := range r.Threads {
		tids[i] = int(t.TID)
	}
	l.addInts("threads", tids)
}

func maskOrNull(m irq.Mask) any {
	if !m.OK {
		return nil
	}
	return m.String()
}

func numberOrNull(n int) any {
	if n < 0 {
		return nil
	}
	return n
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
