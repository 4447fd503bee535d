package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/chart"
)

func TestFitOfQuietPeriods(t *testing.T) {
	for name, tc := range map[string]struct {
		periods []period
		want    []float64 // ratios to the default; NaN where there is no period
	}{
		"one period each":        {[]period{{0, 5}, {0, 5}, {1, 6}, {0, 5}, {2, 4}}, []float64{1, 1.2, 0.8, math.NaN()}},
		"the default comes late": {[]period{{1, 6}, {0, 5}, {0, 5}}, []float64{1, 1.2}},
		"one stands still":       {[]period{{0, 5}, {1, 0}, {0, 5}, {0, 5}}, []float64{1, 0.001}},
		"all stand still":        {[]period{{0, 0}, {1, 0}, {0, 0}}, []float64{1, 1}},
		"no noise and a glitch": {[]period{{0, 5}, {1, 6}, {0, 5}, {1, 6}, {0, 5}, {1, 0.1}, {0, 5}, {1, 6}, {0, 5}, {1, 6}, {0, 5}, {1, 6}},
			[]float64{1, 1.2}},
	} {
		l := fit(tc.periods, len(tc.want))
		for c, want := range tc.want {
			if math.IsNaN(want) {
				assert.True(t, math.IsNaN(l.of[c]), name)
				continue
			}
			assert.InEpsilon(t, want, math.Exp(l.of[c]), 0.01, "%s: candidate %d", name, c)
			assert.False(t, math.IsNaN(l.errorOf(c, 0)), name)
		}
	}
}

// TestFitBeatsMedians compares errors of the levels after four rounds of eight with those
// of medians of log ratios to the default of the same round, which FACTS §8 recommends.
func TestFitBeatsMedians(t *testing.T) {
	const n, rounds = 8, 4
	for _, rough := range []bool{false, true} {
		var fitted, medians, covered, total float64
		for seed := range 200 {
			w := newWorld(seed, 4, n, rough)
			rng := rand.New(rand.NewPCG(uint64(seed), 2))
			var periods []period
			ratios := make([][]float64, n)
			for range rounds {
				logs := make([]float64, n)
				for _, c := range rng.Perm(n) {
					periods = append(periods, period{c, w.rate(c)})
					logs[c] = math.Log(periods[len(periods)-1].rate)
				}
				for c := range logs {
					ratios[c] = append(ratios[c], logs[c]-logs[0])
				}
			}
			l := fit(periods, n)
			for c := 1; c < n; c++ {
				off := math.Abs(l.of[c] - w.effects[c])
				fitted += off
				medians += math.Abs(chart.Middle(ratios[c]) - w.effects[c])
				total++
				if off <= 2*l.errorOf(c, 0) {
					covered++
				}
			}
		}
		t.Logf("rough %v: mean error %.2f %% against %.2f %% of medians; %.1f %% within two standard errors",
			rough, 100*fitted/total, 100*medians/total, 100*covered/total)
		assert.Less(t, fitted, 0.95*medians)
		assert.Greater(t, covered/total, 0.85)
	}
}
