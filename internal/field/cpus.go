package field

import (
	"math"
	"strconv"

	"piton/internal/model"
)

// CPUColumns are those of CPUs at a sample.
var CPUColumns = []Column[*model.CPU]{
	{ID: "cpu", Title: "CPU", Help: "its number", Type: TypeInt, Width: 4, Right: true, Names: true, Value: func(c *model.CPU) any { return int(c.ID) }},
	ofCPU(1, "busy", "BUSY%", "share of the interval, 0 to 1, that it was busy", 100, func(c *model.CPU) float32 { return c.Busy }).
		Toned(func(c *model.CPU) Tone { return Load(c.Busy) }),
	ofCPU(0, "user", "", "in user mode", 100, func(c *model.CPU) float32 { return c.User }),
	ofCPU(0, "nice", "", "in user mode at a positive nice value", 100, func(c *model.CPU) float32 { return c.Nice }),
	ofCPU(0, "system", "", "in the kernel", 100, func(c *model.CPU) float32 { return c.System }),
	ofCPU(0, "irq", "", "in interrupts", 100, func(c *model.CPU) float32 { return c.IRQ }),
	ofCPU(0, "softirq", "", "in softirqs", 100, func(c *model.CPU) float32 { return c.SoftIRQ }),
	ofCPU(0, "steal", "", "taken by the hypervisor", 100, func(c *model.CPU) float32 { return c.Steal }),
	ofCPU(0, "guest", "", "running guests", 100, func(c *model.CPU) float32 { return c.Guest }),
	ofCPU(0, "iowait", "", "idle while a task waited for storage", 100, func(c *model.CPU) float32 { return c.IOWait }),
	ofCPU(2, "in_per_s", "IN/s", "tasks that came to it, a second", 1, func(c *model.CPU) float32 { return c.InPerS }),
	ofCPU(2, "out_per_s", "OUT/s", "tasks that left it, a second", 1, func(c *model.CPU) float32 { return c.OutPerS }),
	{ID: "pinned", Title: "PINNED", Help: "tasks that may run only there", Type: TypeInt, Width: 8, Tight: 6, Rank: 2, Right: true, Desc: true,
		Value: func(c *model.CPU) any { return c.Pinned }},
}

// IRQShare is the column of both kinds of interrupts.
var IRQShare = ofCPU(2, "irqs", "IRQ%", "in interrupts and softirqs", 100, func(c *model.CPU) float32 { return c.IRQ + c.SoftIRQ })

// ofCPU is a column of a figure of a CPU; for people it is times as much.
func ofCPU(rank int, id, title, help string, times float64, of func(*model.CPU) float32) Column[*model.CPU] {
	return Column[*model.CPU]{ID: id, Title: title, Help: help, Type: TypeNumber | TypeNull, Width: 8, Tight: 6, Rank: rank, Right: true, Desc: true,
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
	case perS < 999500:
		return Rate(perS/1e3) + "k"
	}
	return Rate(perS/1e6) + "M"
}
