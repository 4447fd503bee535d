package field

import (
	"fmt"
	"math"

	"piton/internal/cpuset"
	"piton/internal/irq"
)

// Interrupt is a row of interrupts: a line, one that has a name instead of a number, or a softirq.
type Interrupt struct {
	*irq.Row               // a reading does not change those before it
	Named    *irq.NamedRow // nil for one with a number
	Soft     bool
	CPUs     []cpuset.CPU // of the rates
}

// Interrupts are the rows of a table that have all words of the filter; happened leaves out
// named ones that never did.
func Interrupts(t *irq.Table, filter string, happened bool) (numbered, named, softirqs []Interrupt) {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Match(filter) {
			numbered = append(numbered, Interrupt{Row: r, CPUs: t.CPUs})
		}
	}
	some := func(rows []irq.NamedRow, soft bool) (out []Interrupt) {
		for i := range rows {
			if r := &rows[i]; r.Match(filter) && (r.Happened() || !happened) {
				facts := &irq.Row{IRQ: irq.IRQ{Number: -1, Counts: r.Counts, Facts: irq.Facts{Node: -1}}, Rate: r.Rate}
				out = append(out, Interrupt{facts, r, soft, t.CPUs})
			}
		}
		return out
	}
	return numbered, some(t.Named, false), some(t.SoftIRQs, true)
}

// Name is the number or the name of the line.
func (i Interrupt) Name() string {
	if i.Named != nil {
		return i.Named.Name
	}
	return fmt.Sprint(i.Number)
}

// From is what raises it, in words.
func (i Interrupt) From() string {
	if i.Named != nil {
		return i.Named.What()
	}
	return i.Handlers()
}

func (i Interrupt) control() string {
	switch {
	case i.Soft:
		return "softirq"
	case i.Named != nil:
		return ""
	}
	return i.Control.String()
}

// Lags reports whether the line still goes where it is no longer asked to; it
// moves with its next interrupt.
func (i Interrupt) Lags() bool {
	return i.Row.Effective.OK && i.Requested.OK && !i.Row.Effective.SubsetOf(i.Requested.Set)
}

// effective is where the line goes, marked where that is elsewhere than asked.
func (i Interrupt) effective() string {
	if i.Lags() {
		return "!" + i.Row.Effective.String()
	}
	return i.Row.Effective.String()
}

// top is the CPU that took most of it with its share: "3 82 %".
func (i Interrupt) top() string {
	if r := i.Rate; r.OK && r.Top >= 0 {
		return fmt.Sprintf("%d %.0f %%", r.Top, 100*r.TopPerS/r.PerS)
	}
	return ""
}

// byCPU are the rates of the CPUs that had any.
func (i Interrupt) byCPU() any {
	if !i.Rate.OK {
		return nil
	}
	out := []Member{}
	for n, perS := range i.Rate.ByCPU {
		if perS != 0 {
			out = append(out, Member{fmt.Sprint(i.CPUs[n]), math.Round(perS*1e3) / 1e3})
		}
	}
	return out
}

// OnCPU is the column of the rate on the n-th CPU.
func OnCPU(n int, cpu cpuset.CPU) Column[Interrupt] {
	title := fmt.Sprintf("cpu%d", cpu)
	return PerSecond(Column[Interrupt]{ID: title, Title: title, Width: 6, Rank: 2},
		func(i Interrupt) (float64, bool) {
			if i.Rate.OK && n < len(i.Rate.ByCPU) {
				return i.Rate.ByCPU[n], true
			}
			return 0, false
		})
}

func ofMask(rank int, id, title, help string, of func(Interrupt) irq.Mask) Column[Interrupt] {
	return Column[Interrupt]{ID: id, Title: title, Help: help, Type: TypeText | TypeNull, Width: 14, Tight: 9, Rank: rank,
		Value: func(i Interrupt) any { return Mask(of(i)) }}
}

// Mask is a mask as a column's value.
func Mask(m irq.Mask) any { return Known(m.String(), m.OK) }

// InterruptColumns are those of interrupts, in the order of JSON.
var InterruptColumns = []Column[Interrupt]{
	{ID: "irq", Title: "IRQ", Help: "number, null for a line with a name", Type: TypeInt | TypeNull, Width: 8, Tight: 6, Right: true, Names: true,
		Value: func(i Interrupt) any { return NonNegative(i.Number) }, Text: Interrupt.Name},
	PerSecond(Column[Interrupt]{ID: "per_s", Title: "RATE/s", Help: "times a second", Width: 8, Rank: 1},
		func(i Interrupt) (float64, bool) { return i.Rate.PerS, i.Rate.OK }),
	{ID: "top_cpu", Title: "TOP CPU", Help: "CPU with most of them", Type: TypeInt | TypeNull, Width: 9, Rank: 2, Right: true, Names: true,
		Value: func(i Interrupt) any { return Known(int(i.Rate.Top), i.Rate.OK && i.Rate.Top >= 0) }, Text: Interrupt.top},
	PerSecond(Column[Interrupt]{ID: "top_per_s", Title: "TOP/s", Help: "times a second on that CPU"},
		func(i Interrupt) (float64, bool) { return i.Rate.TopPerS, i.Rate.OK && i.Rate.Top >= 0 }),
	ofMask(4, "affinity", "AFFINITY", "CPUs requested, a cpulist", func(i Interrupt) irq.Mask { return i.Requested }),
	ofMask(3, "effective", "EFFECTIVE", "CPUs in use, a cpulist", func(i Interrupt) irq.Mask { return i.Effective }).As(Interrupt.effective).
		Toned(func(i Interrupt) Tone { return when(i.Lags(), Warn) }),
	{ID: "control", Title: "CONTROL", Help: "settable, managed, fixed or unknown", Type: TypeText | TypeNull, Width: 8, Rank: 5,
		Value: func(i Interrupt) any { return Known(i.Control.String(), i.Named == nil) }, Text: Interrupt.control,
		Tone: func(i Interrupt) Tone { return when(i.Named == nil && i.Control != irq.Settable, Accent) }},
	Words(Column[Interrupt]{ID: "device", Title: "DEVICE", Help: "interface, disk or other device"},
		func(i Interrupt) string { return i.Device.Name() }),
	Words(Column[Interrupt]{ID: "driver", Title: "DRIVER", Help: "its driver", Width: 16, Tight: 12, Rank: 8},
		func(i Interrupt) string { return i.Device.Driver }),
	Words(Column[Interrupt]{ID: "queue", Title: "QUEUE", Help: "rx, tx or both"},
		func(i Interrupt) string { return i.Queue.Flow.String() }).As(func(i Interrupt) string { return i.Queue.String() }),
	{ID: "name", Title: "HANDLERS", Help: "handlers, or the name of the line or softirq", Type: TypeText, Width: 22, Tight: 20, Rank: 7,
		Value: func(i Interrupt) any {
			if i.Named != nil {
				return i.Named.Name
			}
			return i.Handlers()
		}, Text: Interrupt.From},
	{ID: "threads", Title: "THREADS", Help: "TIDs of the handlers' threads", Type: TypeInts,
		Value: func(i Interrupt) any {
			tids := make([]any, len(i.Threads))
			for n, t := range i.Threads {
				tids[n] = int(t.TID)
			}
			return tids
		}, Text: func(i Interrupt) string { return irq.Tasks(i.Threads) }},
	{ID: "count", Help: "times since boot", Type: TypeInt | TypeNull,
		Value: func(i Interrupt) any { return Known(irq.Total(i.Counts), len(i.Counts) > 0) }},
	{ID: "by_cpu", Help: "times a second by CPU, of those that had any", Type: TypeNumbers | TypeNull, Value: Interrupt.byCPU},
	ofMask(0, "hint", "", "CPUs that the driver suggests, a cpulist", func(i Interrupt) irq.Mask { return i.Hint }),
	{ID: "movable", Help: "its affinity can be set", Type: TypeBool | TypeNull,
		Value: func(i Interrupt) any { return Known(i.Control == irq.Settable, i.Control != irq.ControlUnknown) }},
	{ID: "managed", Help: "its driver spread it", Type: TypeBool | TypeNull,
		Value: func(i Interrupt) any { return Known(i.Control == irq.Managed, i.Control != irq.ControlUnknown) }},
	{ID: "node", Help: "NUMA node of the device", Type: TypeInt | TypeNull, Value: func(i Interrupt) any { return NonNegative(i.Node) }},
	Words(Column[Interrupt]{ID: "address", Help: "PCI address"}, func(i Interrupt) string { return i.Device.Address }),
	{ID: "queue_index", Help: "number of the queue", Type: TypeInt | TypeNull,
		Value: func(i Interrupt) any { return Known(i.Queue.Index, i.Queue.Flow != irq.NoQueue) }},
	Words(Column[Interrupt]{ID: "chip", Help: "interrupt controller"}, func(i Interrupt) string { return i.Chip }),
	Words(Column[Interrupt]{ID: "trigger", Help: "edge or level"}, func(i Interrupt) string { return i.Row.Type }),
	{ID: "actions", Help: "names of the handlers", Type: TypeTexts, Value: func(i Interrupt) any { return Values(i.Actions) }},
	{ID: "unhandled", Help: "interrupts that no handler knew", Type: TypeInt | TypeNull,
		Value: func(i Interrupt) any { return Known(i.Spurious.Unhandled, i.Spurious.OK) }},
	{ID: "text", Help: "what a line with a name is, by the kernel", Type: TypeText | TypeNull, Value: func(i Interrupt) any {
		if i.Named == nil || i.Soft {
			return nil
		}
		return i.Named.Text
	}},
}
