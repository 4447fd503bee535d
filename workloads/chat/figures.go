package chat

import (
	"fmt"

	"piton/internal/chart"
)

// Figures are the CPU time of each process.
func (r Result) Figures() []chart.Figure {
	b := chart.Bars{Unit: "s", Legend: []string{"CPU time: user, and lighter system"}}
	for i, u := range r.Processes {
		label := fmt.Sprintf("%s %d", u.Role, i/2)
		if u.CPUs != "" {
			label += " on CPU " + u.CPUs
		}
		b.Bars = append(b.Bars, chart.Bar{Label: label, Value: u.UserSeconds, UpTo: u.UserSeconds + u.SystemSeconds,
			Caption: fmt.Sprintf("%s, %d switches", chart.Quantity(u.UserSeconds+u.SystemSeconds, "s"), u.Voluntary+u.Involuntary)})
	}
	return []chart.Figure{{Title: "CPU time of the processes", Plot: b, Note: fmt.Sprintf("%s. %s %s", chart.Quantity(r.PerS, "messages/s"), r.Aggregation, r.Why)}}
}
