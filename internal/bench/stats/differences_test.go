package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDifferencesAreFoundWithoutMakingThem compares each rank with that among
// all of them, sorted.
func TestDifferencesAreFoundWithoutMakingThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	draw := map[string]func() float64{
		"skewed":   func() float64 { return 0.24 + 0.02*rng.ExpFloat64() },
		"ties":     func() float64 { return float64(rng.IntN(5) - 2) },
		"any size": func() float64 { return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(600)-300)) },
		"zeros":    func() float64 { return math.Copysign(0, rng.NormFloat64()) },
	}
	for name, one := range draw {
		for _, size := range [][2]int{{1, 1}, {2, 3}, {10, 10}, {40, 31}} {
			xs, ys := make([]float64, size[0]), make([]float64, size[1])
			for i := range xs {
				xs[i] = one()
			}
			for i := range ys {
				ys[i] = one()
			}
			var all []float64
			for _, x := range xs {
				for _, y := range ys {
					all = append(all, y-x)
				}
			}
			slices.Sort(all)
			d := newDifferences(xs, ys)
			assert.Equal(t, len(all), d.len())
			for rank, want := range all {
				assert.Equal(t, want, d.at(rank), "%s %v, rank %d", name, size, rank)
			}
		}
	}
}

// TestManyRunsAreJudged is of as many as there can be, whose differences would
// take 800 MB.
func TestManyRunsAreJudged(t *testing.T) {
	xs, ys := make([]float64, 10_000), make([]float64, 10_000)
	for i := range xs {
		xs[i], ys[i] = float64(i), float64(i+500)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	estimate, low, high, ok := Shift(xs, ys, 0.95)
	runtime.ReadMemStats(&after)
	assert.True(t, ok)
	assert.InDelta(t, 500, estimate, 0)
	assert.InDelta(t, 420, low, 5)
	assert.InDelta(t, 580, high, 5)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20))
}
