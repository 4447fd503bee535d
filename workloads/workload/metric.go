package workload

import (
	"strings"

	"piton/internal/chart"
)

// CounterFile stands in front of the path of a file with a growing number, the
// Name of a Metric: "file:/run/app/requests".
const CounterFile = "file:"

// Metric is the figure that runs of a workload are compared by. The zero Metric
// is the seconds of the work.
type Metric struct {
	Name           string // "triad bandwidth"
	Unit           string // "MB/s"
	HigherIsBetter bool
}

// BaseUnit is what its values are in.
func (m Metric) BaseUnit() string {
	if m == (Metric{}) {
		return "s"
	}
	return m.Unit
}

// Noun names the figure in a sentence; a pattern that finds it in a command's
// output is no name.
func (m Metric) Noun() string {
	switch {
	case m == (Metric{}):
		return "time"
	case m.Name == "" || strings.ContainsAny(m.Name, "\\()[]*+?.^$|{}") && !strings.HasPrefix(m.Name, CounterFile):
		return "figure"
	}
	return m.Name
}

// Format prints a value of the metric for people: "6.54 ms".
func (m Metric) Format(value float64) string { return chart.Quantity(value, m.BaseUnit()) }
