package stream

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/chart"
)

// Fit is whether the firmware's distances foretell triad's bandwidth: a least
// squares line through the cells, and how far apart cells of one distance are.
type Fit struct {
	// Valid: there are two distances, so that a line goes through.
	Valid        bool     `json:"valid"`
	InterceptMBs float64  `json:"intercept_mbs"`
	SlopeMBs     float64  `json:"slope_mbs"` // for one more unit of distance
	R2           float64  `json:"r2"`        // share of the variance that the line explains
	Spreads      []Spread `json:"spreads"`   // by distance
	Verdict      string   `json:"verdict"`
}

// Spread is the bandwidths of all cells of one distance.
type Spread struct {
	Distance int     `json:"distance"`
	Cells    int     `json:"cells"`
	LowMBs   float64 `json:"low_mbs"`
	HighMBs  float64 `json:"high_mbs"`
}

// ratio is how many times the best cell is faster than the worst.
func (s Spread) ratio() float64 { return s.HighMBs / max(s.LowMBs, 1) }

// Thresholds of the verdict: a good line, and a spread among equals that it does
// not explain.
const (
	goodR2      = 0.8
	wideSpread  = 1.1
	minForTrend = 3
)

func newFit(cells []Cell) Fit {
	var f Fit
	var x, y []float64
	for _, c := range cells {
		if c.Distance > 0 {
			x, y = append(x, float64(c.Distance)), append(y, c.Triad())
			f.spread(c.Distance, c.Triad())
		}
	}
	if len(f.Spreads) > 1 && len(x) >= minForTrend {
		f.Valid = true
		f.InterceptMBs, f.SlopeMBs, f.R2 = chart.Regression(x, y)
	}
	f.Verdict = f.verdict()
	return f
}

// spread adds one cell to those of its distance, which stay in rising order.
func (f *Fit) spread(distance int, mbs float64) {
	at, known := slices.BinarySearchFunc(f.Spreads, distance, func(s Spread, d int) int { return s.Distance - d })
	if !known {
		f.Spreads = slices.Insert(f.Spreads, at, Spread{distance, 0, mbs, mbs})
	}
	s := &f.Spreads[at]
	s.Cells, s.LowMBs, s.HighMBs = s.Cells+1, min(s.LowMBs, mbs), max(s.HighMBs, mbs)
}

func (f Fit) verdict() string {
	switch {
	case len(f.Spreads) == 0:
		return "the firmware gives no distances"
	case len(f.Spreads) > 1 && !f.Valid:
		return "too few cells to tell whether distance predicts bandwidth"
	case !f.Valid:
		return fmt.Sprintf("all distances are %d, so that they foretell nothing%s", f.Spreads[0].Distance, f.unexplained())
	case f.R2 >= goodR2 && f.SlopeMBs < 0:
		return fmt.Sprintf("distance predicts bandwidth: %.0f MB/s less for each unit, r² %.2f%s", -f.SlopeMBs, f.R2, f.unexplained())
	}
	return fmt.Sprintf("distance does not predict bandwidth well: r² %.2f%s", f.R2, f.unexplained())
}

// unexplained tells of the distance whose cells differ most, if they do.
func (f Fit) unexplained() string {
	worst := slices.MaxFunc(f.Spreads, func(a, b Spread) int { return cmp.Compare(a.ratio(), b.ratio()) })
	if worst.ratio() < wideSpread {
		return ""
	}
	return fmt.Sprintf("; at distance %d the bandwidths differ by a factor of %.2f", worst.Distance, worst.ratio())
}
