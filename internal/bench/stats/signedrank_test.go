package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSignedRank(t *testing.T) {
	for name, tc := range map[string]struct {
		ds   []float64
		want float64
	}{
		"none":                     {nil, 1},
		"only zeros":               {[]float64{0, math.Copysign(0, -1)}, 1},
		"all positive":             {[]float64{1, 2, 3, 4, 5, 6}, 1. / 64},
		"all negative":             {[]float64{-1, -2, -3}, 1},
		"smallest negative":        {[]float64{-1, 2, 3, 4, 5, 6}, 2. / 64},
		"zeros are left out":       {[]float64{0, 1, 2, 0, 3}, 1. / 8},
		"one size, one sign wrong": {[]float64{2, 2, 2, -2}, 5. / 16},
		"ties share a rank":        {[]float64{1, -1, 2}, 3. / 8},
		// Darwin's maize, eighths of an inch: W+ = 96 of 120, R's wilcox.test one-sided.
		"Darwin's maize": {[]float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}, 0.02063},
	} {
		assert.InDelta(t, tc.want, SignedRank(tc.ds), 5e-5, name)
	}
}

// TestSignedRankIsTheShareOfSigns compares with all signs, one after the other.
func TestSignedRankIsTheShareOfSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 40 {
		n := 1 + rng.IntN(10)
		ds := make([]float64, n)
		for i := range ds {
			ds[i] = float64(rng.IntN(9) - 4)
		}
		_, observed := doubledRanks(ds)
		asLarge := 0
		for mask := range 1 << n {
			flipped := make([]float64, n)
			for i, d := range ds {
				flipped[i] = d
				if mask>>i&1 == 1 {
					flipped[i] = -d
				}
			}
			if _, sum := doubledRanks(flipped); sum >= observed {
				asLarge++
			}
		}
		assert.InDelta(t, float64(asLarge)/float64(int(1)<<n), SignedRank(ds), 1e-12, "%v", ds)
	}
}

func TestRanksOfThePairedIntervalMatchTheTables(t *testing.T) {
	// Critical values of W at 0.05 two-sided, plus 1.
	for n, k := range map[int]int{5: 0, 6: 1, 7: 3, 8: 4, 10: 9, 15: 26, 20: 53, 30: 138, 50: 435} {
		assert.Equal(t, k, lowerSignedRank(n, 0.025), "%d pairs", n)
	}
}

func TestSignedRankApproximation(t *testing.T) {
	exact := 0
	ranks, sum := make([]int, 101), 0.0
	for i := range ranks {
		ranks[i] = i + 1
	}
	distribution := signedRankDistribution(ranks)
	for k, p := range distribution {
		if sum += p; sum > 0.025 {
			exact = k
			break
		}
	}
	assert.InDelta(t, exact, lowerSignedRank(101, 0.025), 3)
	ds, upper := make([]float64, 101), 0.0
	for i := range ds {
		ds[i] = float64(i + 1)
		if i%5 < 2 {
			ds[i] = -ds[i]
		}
	}
	_, doubled := doubledRanks(ds)
	for _, p := range distribution[doubled/2:] {
		upper += p
	}
	assert.InDelta(t, upper, SignedRank(ds), 5e-4)
}

func TestCenter(t *testing.T) {
	_, _, _, ok := Center(nil, 0.95)
	assert.False(t, ok)
	estimate, _, _, ok := Center([]float64{1, 2, 9}, 0.95)
	assert.False(t, ok, "three pairs show nothing at 5 %")
	assert.InDelta(t, 3.5, estimate, 1e-12)

	estimate, low, high, ok := Center([]float64{1, 2, 3, 4, 5, 6}, 0.95)
	assert.True(t, ok)
	assert.InDelta(t, 3.5, estimate, 1e-12)
	assert.InDelta(t, 1, low, 1e-12)
	assert.InDelta(t, 6, high, 1e-12)
}

// TestIntervalAndSignedRankAgree draws samples whose interval's end is often near 0.
func TestIntervalAndSignedRankAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	rejected := 0
	for range 500 {
		ds := make([]float64, 5+rng.IntN(30))
		for i := range ds {
			ds[i] = 0.4 + rng.NormFloat64()
		}
		_, low, _, ok := Center(ds, 0.95)
		p := SignedRank(ds)
		assert.Equal(t, p <= 0.025, ok && low > 0, "p %g, low %g", p, low)
		if p <= 0.025 {
			rejected++
		}
	}
	assert.InDelta(t, 250, rejected, 150, "both answers occur")
}
