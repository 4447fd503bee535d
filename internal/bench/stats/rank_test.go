package stats

import (
	"sort"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
	"github.com/stretchr/testify/assert"
)

func TestHolm(t *testing.T) {
	assert.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02}, Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	assert.Equal(t, []float64{1, 1}, Holm([]float64{0.9, 0.8}))
	assert.Empty(t, Holm(nil))
}

func TestRanksOfTheIntervalMatchTheTables(t *testing.T) {
	// Critical values of U at 0.05 two-sided, plus 1.
	for _, tc := range []struct{ m, n, k int }{{3, 3, 0}, {4, 4, 1}, {5, 5, 3}, {6, 6, 6}, {10, 10, 24}, {8, 12, 23}, {20, 20, 128}} {
		assert.Equal(t, tc.k, lowerRank(tc.m, tc.n, 0.025), "%d and %d", tc.m, tc.n)
	}
	u := moremath.UDist{N1: 60, N2: 60}
	exact := sort.Search(3600, func(k int) bool { return u.CDF(float64(k)) > 0.025 })
	assert.InDelta(t, exact, lowerRank(60, 60, 0.025), 2, "the approximation for many runs")
}

func TestSmallestP(t *testing.T) {
	assert.InDelta(t, 2.0/70, SmallestP(4, 4), 1e-15)
	assert.InDelta(t, 1, SmallestP(1, 1), 0)
}

func TestShift(t *testing.T) {
	estimate, low, high, ok := Shift([]float64{1, 2, 3, 4, 5}, []float64{11, 12, 13, 14, 15}, 0.95)
	assert.True(t, ok)
	assert.InDelta(t, 10, estimate, 1e-12)
	assert.InDelta(t, 7, low, 1e-12)
	assert.InDelta(t, 13, high, 1e-12)
}
