package paper

import (
	"math"

	"piton/internal/bench"
	"piton/internal/bench/stats"
	"piton/workloads/workload"
)

// ratio is a figure in that of another, by pairs that were measured together.
type ratio struct {
	center, low, high float64
	have              bool // the interval
	pairs             int
}

// ratioOf is the ratio that the log ratios of pairs have.
func ratioOf(logs []float64) ratio {
	center, low, high, have := stats.Center(logs, 0.95)
	return ratio{math.Exp(center), math.Exp(low), math.Exp(high), have, len(logs)}
}

// words are the share by which it is more, with its interval.
func (r ratio) words() string { return r.finding("", nil).cell() }

// finding is the ratio as one that is better above 1.
func (r ratio) finding(label string, published *float64) finding {
	c := bench.Comparison{Metric: workload.Metric{HigherIsBetter: true}, Comparable: r.pairs > 0 && !math.IsNaN(r.center), Delta: r.center - 1, Low: r.low - 1, High: r.high - 1,
		HaveInterval: r.have, Different: r.more() || r.less()}
	if c.Visible = bench.Visible(c.Low, c.High); !r.have {
		c.Unjudged = "too few runs"
	}
	return found(c, label, published)
}

func (r ratio) more() bool { return r.have && r.low > 1 }
func (r ratio) less() bool { return r.have && r.high < 1 }
