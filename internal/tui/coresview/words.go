package coresview

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tui/theme"
)

var heatLegend = [...]string{"0", "<1", "1", "10", "100"}

func heatStep(perS float64) int { return theme.HeatStep(perS, math.SmallestNonzeroFloat64, 1) }

// share writes a part of a whole in at most six cells: "8.8 %", "0.04 %".
func share(part float64) string {
	if part < 1e-3 {
		part = math.Round(part*1e4) / 1e4
	}
	return chart.Percent(part)
}

func duration(d time.Duration) string { return chart.Quantity(d.Seconds(), "s") }

// lastSpan names a window by what it really covers: "last 10 s".
func lastSpan(d time.Duration) string {
	if d >= 950*time.Millisecond {
		d = d.Round(time.Second)
	}
	return "last " + duration(d)
}

// Task finds a task in the newest sample; nil when it ended, or its process's
// threads were not read.
func (v *View) Task(tid kernel.TID) *sample.Task {
	if v.m == nil {
		return nil
	}
	if i, ok := sample.Find(v.m.Sample.Tasks, tid); ok {
		return v.m.Sample.Tasks[i]
	}
	return nil
}

func comm(t *sample.Task) string {
	if t == nil || t.ID == nil {
		return ""
	}
	return t.ID.Comm
}

func (v *View) named(tid kernel.TID) string {
	return cmp.Or(comm(v.Task(tid)), v.moves.Name(tid), fmt.Sprintf("%d, ended", tid))
}

// lives is the tone of a task's name, dim where it has ended.
func (v *View) lives(tid kernel.TID) field.Tone {
	if comm(v.Task(tid)) != "" {
		return field.Strong
	}
	return field.Dim
}

func (v *View) target(tid kernel.TID) Target {
	if t := v.Task(tid); t != nil {
		return Target{TID: tid, TGID: t.TGID, StartTicks: t.StartTicks}
	}
	return Target{TID: tid}
}
