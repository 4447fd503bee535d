package paper

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/bench"
	"piton/internal/bench/stats"
	"piton/internal/chart"
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

// words are the share by which it is more: "~ +0.4 % (−1.2 to +2)"; ~ may be chance.
func (r ratio) words() string {
	if r.pairs == 0 || math.IsNaN(r.center) {
		return bench.None
	}
	text := signed(r.center - 1)
	if r.have {
		text += fmt.Sprintf(" (%s to %s)", strings.TrimSuffix(signed(r.low-1), " %"), strings.TrimSuffix(signed(r.high-1), " %"))
	}
	if !r.have || r.low <= 1 && r.high >= 1 {
		text = "~ " + text
	}
	return text
}

// finding is the ratio as one that is better above 1.
func (r ratio) finding(label string, published *float64) finding {
	f := finding{EffectRow: chart.EffectRow{Label: label, Published: published}}
	if r.pairs == 0 || math.IsNaN(r.center) {
		return f
	}
	f.Value, f.Low, f.High, f.HaveInterval = r.center-1, r.low-1, r.high-1, r.have
	if f.visible = bench.Visible(f.Low, f.High); !r.have {
		f.kind, f.Remark = unjudged, "too few runs"
		return f
	}
	f.judge(r.more() || r.less())
	return f
}

func (r ratio) more() bool { return r.have && r.low > 1 }
func (r ratio) less() bool { return r.have && r.high < 1 }
