package irqcmd

import (
	"slices"

	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/irq"
)

// typeColumn tells softirqs from lines where one table has both.
var typeColumn = output.Col("type", "", output.Text, "irq or softirq", func(i field.Interrupt) any {
	if i.Soft {
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
	irqList     = output.NewList("irq", "irq", "an interrupt line", field.InterruptColumns...)
	softirqList = output.NewList("irq", "softirq", "a softirq",
		field.Pick(field.InterruptColumns, "name", "per_s", "top_cpu", "top_per_s", "count", "by_cpu")...)
	// bothList is for tables and CSV: a softirq's cells are empty where it has no such thing.
	bothList   = output.Selection("irq", append(slices.Clip(field.InterruptColumns), typeColumn))
	irqEndList = output.NewList("irq", "end", "the end of the list",
		output.Col("irqs", "", output.Int, "lines with a number", func(e irqEnd) any { return e.shown }),
		output.Col("interval_s", "", output.Number, "time over which rates are taken, 0 with --now",
			func(e irqEnd) any { return e.Elapsed.Seconds() }),
		output.Col("default_affinity", "", output.MaybeText, "CPUs that new lines get, a cpulist",
			func(e irqEnd) any { return field.Mask(e.Default) }))
)
