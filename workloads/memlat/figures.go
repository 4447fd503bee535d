package memlat

import (
	"fmt"

	"piton/internal/chart"
)

// Figures are the curves, with the caches by /sys.
func (r Result) Figures() []chart.Figure {
	l := chart.Lines{X: "memory used", Y: "time per load", Unit: "ns", LogX: true, LogY: true, XFormat: func(v float64) string { return Size(int64(v)) }}
	note := ""
	for _, c := range r.Curves {
		line := chart.Line{Name: "memory"}
		if c.Node != AnyNode {
			line.Name = fmt.Sprintf("memory of node %d", c.Node)
		}
		for _, p := range c.Points {
			line.Points = append(line.Points, chart.Point{X: float64(p.Bytes), Y: p.Ns})
		}
		l.Lines = append(l.Lines, line)
		for _, level := range c.Levels {
			note += level.Name + " " + chart.Quantity(level.Ns, "ns")
			if level.Cycles > 0 {
				note += fmt.Sprintf(" (%s cycles)", chart.Digits(level.Cycles))
			}
			note += ". "
		}
	}
	for _, c := range r.Caches {
		l.Marks = append(l.Marks, chart.Mark{X: float64(c.Bytes), Name: fmt.Sprintf("L%d", c.Level)})
	}
	return []chart.Figure{{Title: "Latency by size", Plot: l, Note: note}}
}
