package bench

// Metric is the figure that runs of a workload are compared by. The zero Metric
// is the seconds of the work.
type Metric struct {
	Name           string // "triad bandwidth"
	Unit           string // "MB/s"
	HigherIsBetter bool
}

func (m Metric) unit() string {
	if m == (Metric{}) {
		return "s"
	}
	return m.Unit
}

// Format prints a value of the metric with its unit.
func (m Metric) Format(value float64) string { return fixed(value, decimals(value)) + " " + m.unit() }

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

// word says which way a comparison that found a difference went: of seconds
// faster or slower, of other figures better or worse.
func (c Comparison) word() string {
	words := [...]string{"worse", "better"}
	if c.Metric == (Metric{}) {
		words = [...]string{"slower", "faster"}
	}
	if c.Better() {
		return words[1]
	}
	return words[0]
}
