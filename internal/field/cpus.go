package field

import (
	"math"
	"strconv"

	"piton/internal/model"
)

// CPUColumns are those of CPUs at a sample.
var CPUColumns = []Column[*model.CPU]{
	{ID: "cpu", Title: "CPU", Help: "its number", Type: TypeInt, Width: 4, Right: true, Names: true, Value: func(c *model.CPU) any { return int(c.ID) }},
	ofCPU("busy", "BUSY%", "share of the interval, 0 to 1, that it was busy", 100, func(c *model.CPU) float32 { return c.Busy }).Ranked(1).
		Toned(func(c *model.CPU) Tone { return Load(c.Busy) }),
	ofCPU("user", "", "in user mode", 100, func(c *model.CPU) float32 { return c.User }),
	ofCPU("nice", "", "in user mode at a positive nice value", 100, func(c *model.CPU) float32 { return c.Nice }),
	ofCPU("system", "", "in the kernel", 100, func(c *model.CPU) float32 { return c.System }),
	ofCPU("irq", "", "in interrupts", 100, func(c *model.CPU) float32 { return c.IRQ }),
	ofCPU("softirq", "", "in softirqs", 100, func(c *model.CPU) float32 { return c.SoftIRQ }),
	ofCPU("steal", "", "taken by the hypervisor", 100, func(c *model.CPU) float32 { return c.Steal }),
	ofCPU("guest", "", "running guests", 100, func(c *model.CPU) float32 { return c.Guest }),
	ofCPU("iowait", "", "idle while a task waited for storage", 100, func(c *model.CPU) float32 { return c.IOWait }),
	ofCPU("in_per_s", "IN/s", "tasks that came to it, a second", 1, func(c *model.CPU) float32 { return c.InPerS }).Ranked(2),
	ofCPU("out_per_s", "OUT/s", "tasks that left it, a second", 1, func(c *model.CPU) float32 { return c.OutPerS }).Ranked(2),
	{ID: "pinned", Title: "PINNED", Help: "tasks that may run only there", Type: TypeInt, Width: 8, Tight: 6, Rank: 2, Right: true, Desc: true,
		Value: func(c *model.CPU) any { return c.Pinned }},
}

// IRQShare is the column of both kinds of interrupts.
var IRQShare = ofCPU("irqs", "IRQ%", "in interrupts and softirqs", 100, func(c *model.CPU) float32 { return c.IRQ + c.SoftIRQ }).Ranked(2)

// ofCPU is a column of a figure of a CPU; for people it is times as much.
func ofCPU(id, title, help string, times float64, of func(*model.CPU) float32) Column[*model.CPU] {
	return Column[*model.CPU]{ID: id, Title: title, Help: help, Type: TypeNumber | TypeNull, Width: 8, Tight: 6, Right: true, Desc: true,
		Value: func(c *model.CPU) any { return Rounded(of(c)) },
		Text: func(c *model.CPU) string {
			if v := of(c); model.Known(v) {
				return Rate(float64(v) * times)
			}
			return ""
		}}
}

// Rounded is one of the model's figures as JSON has it.
func Rounded(v float32) any { return Known(math.Round(float64(v)*1e4)/1e4, model.Known(v)) }

// Rate writes a rate in at most four cells.
func Rate(perS float64) string {
	switch {
	case perS <= 0:
		return "0"
	case perS < 0.005:
		return "~0"
	case perS < 0.095:
		return strconv.FormatFloat(perS, 'f', 2, 64)[1:] // .02
	case perS < 9.95:
		return strconv.FormatFloat(perS, 'f', 1, 64)
	case perS < 999.5:
		return strconv.FormatFloat(perS, 'f', 0, 64)
	case perS < 9950:
		return strconv.FormatFloat(perS/1e3, 'f', 1, 64) + "k"
	case perS < 999500:
		return strconv.FormatFloat(perS/1e3, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(perS/1e6, 'f', 1, 64) + "M"
}
