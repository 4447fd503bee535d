package search

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLevelsOfTheLooks(t *testing.T) {
	for look, want := range []float64{0.0000258, 0.00210, 0.00971, 0.0215} {
		assert.InEpsilon(t, want, level(look+1), 0.01)
	}
}

func TestConditionalPower(t *testing.T) {
	assert.InDelta(t, 0.912, conditionalPower(level(3), 3), 0.001, "just not enough at the third look")
	assert.Less(t, conditionalPower(0.5, 2), futile, "no trend at half")
	assert.Less(t, conditionalPower(1, 1), 1e-9)
	assert.Greater(t, conditionalPower(0.05, 1), 0.9)
	assert.InDelta(t, 1, conditionalPower(0, 2), 1e-9)
}

// TestConfirmationLevel counts how often a candidate that changes nothing is confirmed, in
// rates no model would allow for. The order of pairs is tossed, so the level holds.
func TestConfirmationLevel(t *testing.T) {
	runs := 4000
	if testing.Short() {
		runs = 1000
	}
	for name, rate := range map[string]func(period int, rng *rand.Rand) float64{
		"independent": func(_ int, rng *rand.Rand) float64 { return math.Exp(0.1 * rng.NormFloat64()) },
		"Cauchy": func(_ int, rng *rand.Rand) float64 {
			return math.Exp(min(0.01*rng.NormFloat64()/rng.NormFloat64(), 500))
		},
		"every second low": func(period int, rng *rand.Rand) float64 { return 1 + float64(period%2) + 0.01*rng.Float64() },
		"falling":          func(period int, rng *rand.Rand) float64 { return math.Exp(-0.05*float64(period)) + 1e-4*rng.Float64() },
		"often 0":          func(_ int, rng *rand.Rand) float64 { return float64(rng.IntN(3)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := 0
			for seed := range runs {
				rng, period := rand.New(rand.NewPCG(uint64(seed), 5)), 0
				r, err := Run(context.Background(), 2, Options{Seed: uint64(seed)}, func(context.Context, int) (Reading, error) {
					period++
					return Reading{Rate: rate(period, rng)}, nil
				}, nil)
				require.NoError(t, err)
				kept += r.Kept
			}
			t.Logf("kept in %.2f %% of %d", 100*float64(kept)/float64(runs), runs)
			bound := Alpha + 3*math.Sqrt(Alpha*(1-Alpha)/float64(runs))
			assert.LessOrEqual(t, float64(kept)/float64(runs), bound)
		})
	}
}

// TestIntervalBelongsToTheDecision: the interval is above 1 if and only if the candidate
// is kept, and it covers the true effect as often as it should.
func TestIntervalBelongsToTheDecision(t *testing.T) {
	covered, kept, runs := 0, 0, 1000
	for seed := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		w := &world{effects: []float64{0, 0.03}, rng: rng, noise: drawNoise(rng, false)}
		r, err := Run(context.Background(), 2, Options{Seed: uint64(seed)}, w.measure, nil)
		require.NoError(t, err)
		assert.Equal(t, r.Kept != 0, r.HaveInterval && r.Low > 1)
		if r.Kept != 0 {
			kept++
		}
		if !r.HaveInterval || r.Low <= math.Exp(0.03) && math.Exp(0.03) <= r.High {
			covered++
		}
	}
	t.Logf("kept %d, covered %d of %d", kept, covered, runs)
	assert.InDelta(t, 750, kept, 200, "both answers occur")
	assert.GreaterOrEqual(t, covered, runs*94/100)
}
