package bench

import (
	"strings"

	"piton/internal/chart"
)

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
	case m.Name == "" || strings.ContainsAny(m.Name, "\\()[]*+?.^$|{}") && !strings.HasPrefix(m.Name, fileRate):
		return "figure"
	}
	return m.Name
}

// Format prints a value of the metric for people: "6.54 ms".
func (m Metric) Format(value float64) string { return chart.Quantity(value, m.BaseUnit()) }

// Metric is what the study's runs are compared by.
func (s Study) Metric() Metric {
	if s.Workload == CommandWorkload || s.Workload == AttachWorkload {
		return s.Figure.metric()
	}
	w, err := Lookup(s.Workload)
	if err != nil {
		return Metric{} // a workload of a newer piton, or of a test
	}
	return w.Metric
}

// Better reports whether the other arm was found to be better than the base.
func (c Comparison) Better() bool {
	return c.Different && c.more == c.Metric.HigherIsBetter
}
