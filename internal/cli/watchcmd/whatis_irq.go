package watchcmd

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/cli/exit"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// table reads the interrupts once.
func (e *explainer) table() (*irq.Table, error) {
	if e.irqs == nil {
		t, err := e.a.Interrupts()
		if err != nil {
			return nil, err
		}
		e.irqs = &t
	}
	return e.irqs, nil
}

// numbered explains "irq:24".
func (e *explainer) numbered(word, number string) ([]explanation, error) {
	n, ok := kernel.ParseNumber(number, 31)
	if !ok {
		return nil, exit.Usagef("%q: irq: needs the number of an interrupt line", word)
	}
	t, err := e.table()
	if err != nil {
		return nil, err
	}
	for i := range t.Rows {
		if t.Rows[i].Number == int(n) {
			return []explanation{explainLine(word, &t.Rows[i])}, nil
		}
	}
	return nil, fmt.Errorf("there is no interrupt line %d in /proc/interrupts", n)
}

// named explains the name of a handler, a device, a named line or a softirq.
func (e *explainer) named(word string) []explanation {
	if what, fewer, ok := irq.Meaning(word); ok {
		x := explanation{target: word, kind: kindIRQ, name: strings.ToUpper(word), tid: -1, irq: -1, what: what, advice: fewer,
			maker: "every CPU for itself", movable: false}
		if irq.IsSoftIRQ(word) {
			x.kind = kindSoftIRQ
			x.maker = "the CPU that took the interrupt or armed the timer"
		}
		return []explanation{x}
	}
	t, err := e.table()
	if err != nil {
		return nil
	}
	var out []explanation
	for i := range t.Rows {
		if r := &t.Rows[i]; isCalled(r, word) {
			out = append(out, explainLine(word, r))
		}
	}
	return out
}

// isCalled reports whether a line's handler or device has the name.
func isCalled(r *irq.Row, word string) bool {
	return slices.Contains(r.Actions, word) || slices.Contains(r.Device.Names, word) || word != "" && r.Device.Address == word
}

// explainLine explains one interrupt line.
func explainLine(word string, r *irq.Row) explanation {
	x := explanation{target: word, kind: kindIRQ, name: r.Handlers(), tid: -1, irq: r.Number,
		movable: field.Known(r.Control == irq.Settable, r.Control != irq.ControlUnknown)}
	x.what = "an interrupt line"
	if r.Queue.Flow != irq.NoQueue {
		x.what += " of queue " + r.Queue.String()
	}
	if name := r.Device.Name(); name != "" {
		x.what += " of " + name
	}
	x.what += ", " + r.Chip
	if len(r.Counts) > 0 {
		x.what += fmt.Sprintf(", taken %d times since boot", irq.Total(r.Counts))
	}
	if len(r.Threads) > 0 {
		x.what += "; handled by " + irq.Tasks(r.Threads)
	}
	if r.Device.Driver != "" {
		x.maker = "the driver " + r.Device.Driver
	}
	if r.Requested.OK {
		x.cpus = r.Requested.String()
	}
	x.advice = r.Control.Why()
	if r.Effective.OK && !r.Effective.Empty() {
		x.advice += "; it goes to cpu " + r.Effective.String() + " now"
	}
	return x
}
