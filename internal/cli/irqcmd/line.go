package irqcmd

import (
	"fmt"
	"math"
	"slices"

	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/irq"
)

// line is a row of the list: an interrupt line, one that has a name instead of a number, or a softirq.
type line struct {
	*irq.Row
	named   *irq.NamedRow // nil for one with a number
	softirq bool
	cpus    []any // of the table's columns
}

// linesOf are the lines that the filter wants; counted leaves out named ones that never happened.
func linesOf(t *irq.Table, filter string, counted bool) (numbered, named, softirqs []line) {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Match(filter) {
			numbered = append(numbered, line{Row: r, cpus: output.Values(t.CPUs)})
		}
	}
	some := func(rows []irq.NamedRow, soft bool) (out []line) {
		for i := range rows {
			if r := &rows[i]; r.Match(filter) && (r.Happened() || !counted) {
				facts := &irq.Row{IRQ: irq.IRQ{Number: -1, Counts: r.Counts, Facts: irq.Facts{Node: -1}}, Rate: r.Rate}
				out = append(out, line{facts, r, soft, output.Values(t.CPUs)})
			}
		}
		return out
	}
	return numbered, some(t.Named, false), some(t.SoftIRQs, true)
}

func (l line) number() string {
	if l.named != nil {
		return l.named.Name
	}
	return fmt.Sprint(l.Number)
}

func (l line) name() any {
	if l.named != nil {
		return l.named.Name
	}
	return l.Handlers()
}

func (l line) handlers() string {
	if l.named != nil {
		return l.named.What()
	}
	return l.Handlers()
}

func (l line) text() any {
	if l.named == nil || l.softirq {
		return nil
	}
	return l.named.Text
}

func (l line) control() any { return output.Known(l.Control.String(), l.named == nil) }

func (l line) controlText() string {
	switch {
	case l.softirq:
		return "softirq"
	case l.named != nil:
		return ""
	}
	return l.Control.String()
}

// byCPU are the rates of the CPUs that had any.
func (l line) byCPU() any {
	if !l.Rate.OK {
		return nil
	}
	out := []field.Member{}
	for i, perS := range l.Rate.ByCPU {
		if perS != 0 {
			out = append(out, field.Member{Name: fmt.Sprint(l.cpus[i]), Value: math.Round(perS*1e3) / 1e3})
		}
	}
	return out
}

func (l line) threads() any {
	tids := make([]any, len(l.Threads))
	for i, t := range l.Threads {
		tids[i] = int(t.TID)
	}
	return tids
}

// rateText is a rate with one decimal, "" for one that is not known.
func rateText(perS float64, known bool) string {
	if !known {
		return ""
	}
	return fmt.Sprintf("%.1f", perS)
}

// maskOrNull is a mask as a column's value.
func maskOrNull(m irq.Mask) any { return output.Known(m.String(), m.OK) }

// The columns that lines and softirqs have.
var (
	nameColumn  = output.Col("name", "HANDLERS", output.Text, "handlers, or the name of the line or softirq", line.name).As(line.handlers)
	rateColumns = []output.Column[line]{
		output.Col("per_s", ">RATE/s", output.MaybeNumber, "times a second", func(l line) any { return output.Known(l.Rate.PerS, l.Rate.OK) }).
			As(func(l line) string { return rateText(l.Rate.PerS, l.Rate.OK) }),
		output.Col("top_cpu", ">TOP CPU", output.MaybeInt, "CPU with most of them",
			func(l line) any { return output.Known(int(l.Rate.Top), l.Rate.OK && l.Rate.Top >= 0) }),
		output.Col("top_per_s", ">TOP/s", output.MaybeNumber, "times a second on that CPU",
			func(l line) any { return output.Known(l.Rate.TopPerS, l.Rate.OK && l.Rate.Top >= 0) }).
			As(func(l line) string { return rateText(l.Rate.TopPerS, l.Rate.OK && l.Rate.Top >= 0) }),
	}
	countColumns = []output.Column[line]{
		output.Col("count", "", output.MaybeInt, "times since boot",
			func(l line) any { return output.Known(irq.Total(l.Counts), len(l.Counts) > 0) }),
		output.Col("by_cpu", "", output.Numbers|output.Null, "times a second by CPU, of those that had any", line.byCPU),
	}
)

// irqColumns are those of interrupt lines.
var irqColumns = slices.Concat(
	[]output.Column[line]{
		output.Col("irq", ">IRQ", output.MaybeInt, "number, null for a line with a name",
			func(l line) any { return output.NonNegative(l.Number) }).
			As(line.number),
	},
	rateColumns,
	[]output.Column[line]{
		output.Col("affinity", "AFFINITY", output.MaybeText, "CPUs requested, a cpulist", func(l line) any { return maskOrNull(l.Requested) }),
		output.Col("effective", "EFFECTIVE", output.MaybeText, "CPUs in use, a cpulist", func(l line) any { return maskOrNull(l.Effective) }),
		output.Col("control", "CONTROL", output.MaybeText, "settable, managed, fixed or unknown", line.control).As(line.controlText),
		output.Col("device", "DEVICE", output.MaybeText, "interface, disk or other device",
			func(l line) any { return output.NonEmpty(l.Device.Name()) }),
		output.Col("driver", "DRIVER", output.MaybeText, "its driver", func(l line) any { return output.NonEmpty(l.Device.Driver) }),
		output.Col("queue", "QUEUE", output.MaybeText, "rx, tx or both", func(l line) any { return output.NonEmpty(l.Queue.Flow.String()) }).
			As(func(l line) string { return l.Queue.String() }),
		nameColumn,
		output.Col("threads", "THREADS", output.Ints, "TIDs of the handlers' threads", line.threads).
			As(func(l line) string { return irq.Tasks(l.Row.Threads) }),
	},
	countColumns,
	[]output.Column[line]{
		output.Col("hint", "", output.MaybeText, "CPUs that the driver suggests, a cpulist", func(l line) any { return maskOrNull(l.Hint) }),
		output.Col("movable", "", output.MaybeBool, "its affinity can be set",
			func(l line) any { return output.Known(l.Control == irq.Settable, l.Control != irq.ControlUnknown) }),
		output.Col("managed", "", output.MaybeBool, "its driver spread it",
			func(l line) any { return output.Known(l.Control == irq.Managed, l.Control != irq.ControlUnknown) }),
		output.Col("node", "", output.MaybeInt, "NUMA node of the device", func(l line) any { return output.NonNegative(l.Node) }),
		output.Col("address", "", output.MaybeText, "PCI address", func(l line) any { return output.NonEmpty(l.Device.Address) }),
		output.Col("queue_index", "", output.MaybeInt, "number of the queue",
			func(l line) any { return output.Known(l.Queue.Index, l.Queue.Flow != irq.NoQueue) }),
		output.Col("chip", "", output.MaybeText, "interrupt controller", func(l line) any { return output.NonEmpty(l.Chip) }),
		output.Col("trigger", "", output.MaybeText, "edge or level", func(l line) any { return output.NonEmpty(l.Type) }),
		output.Col("actions", "", output.Texts, "names of the handlers", func(l line) any { return output.Values(l.Actions) }),
		output.Col("unhandled", "", output.MaybeInt, "interrupts that no handler knew",
			func(l line) any { return output.Known(l.Spurious.Unhandled, l.Spurious.OK) }),
		output.Col("text", "", output.MaybeText, "what a line with a name is, by the kernel", line.text),
	},
)

// typeColumn tells softirqs from lines where one table has both.
var typeColumn = output.Col("type", "", output.Text, "irq or softirq", func(l line) any {
	if l.softirq {
		return "softirq"
	}
	return "irq"
})

// irqEnd ends the list.
type irqEnd struct {
	*irq.Table
	shown int
}

var (
	irqList     = output.NewList("irq", "irq", "an interrupt line", irqColumns...)
	softirqList = output.NewList("irq", "softirq", "a softirq", slices.Concat([]output.Column[line]{nameColumn}, rateColumns, countColumns)...)
	// bothList is for tables and CSV: a softirq's cells are empty where it has no such thing.
	bothList   = output.Selection("irq", append(slices.Clip(irqColumns), typeColumn))
	irqEndList = output.NewList("irq", "end", "the end of the list",
		output.Col("irqs", "", output.Int, "lines with a number", func(e irqEnd) any { return e.shown }),
		output.Col("interval_s", "", output.Number, "time over which rates are taken, 0 with --now",
			func(e irqEnd) any { return e.Elapsed.Seconds() }),
		output.Col("default_affinity", "", output.MaybeText, "CPUs that new lines get, a cpulist",
			func(e irqEnd) any { return maskOrNull(e.Default) }))
)
