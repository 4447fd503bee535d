package stripio

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The study's client has 8 cores, 8 to 48 servers (α from 1 to 6), strips of
// 64 KB and one or three network cards of 1 Gb/s.
func TestPredict(t *testing.T) {
	const us = 1e-6
	for name, test := range map[string]struct {
		costs Costs
		shape Shape
		want  Prediction
	}{
		// (N_C−1)·N_R·α·(M−P) is 7·119·6·(100−10) µs; M ≫ P wins surely.
		"48 servers": {Costs{10 * us, 100 * us}, Shape{48, 8, 119, 8, 0},
			Prediction{7 * 6 * 119 * 100 * us, 10 * 48 * 119 * us / 8, 10 * 48 * 119 * us, 7 * 6 * 119 * 90 * us, Surely}},
		"8 servers": {Costs{10 * us, 100 * us}, Shape{8, 8, 100, 1, 0.5},
			Prediction{0.5 + 7*100*100*us, 0.5 + 10*8*100*us, 0.5 + 10*8*100*us, 7 * 100 * 90 * us, Surely}},
		// M > P, yet on two cores half the strips are at home anyway.
		"M a little above P": {Costs{10 * us, 15 * us}, Shape{16, 2, 10, 2, 0},
			Prediction{15 * 8 * 10 * us, 10 * 16 * 10 * us / 2, 10 * 16 * 10 * us, 8 * 10 * 5 * us, Perhaps}},
		"M below P": {Costs{10 * us, 4 * us}, Shape{16, 4, 10, 9, 0},
			Prediction{4 * 4 * 3 * 10 * us, 10 * 16 * 10 * us / 4, 10 * 16 * 10 * us, -3 * 10 * 4 * 6 * us, No}},
		"one core": {Costs{10 * us, 100 * us}, Shape{16, 1, 10, 1, 0},
			Prediction{0, 10 * 16 * 10 * us, 10 * 16 * 10 * us, 0, No}},
	} {
		got := Predict(test.costs, test.shape)
		assert.InDelta(t, test.want.Balanced, got.Balanced, 1e-12, name)
		assert.InDelta(t, test.want.AwareLeast, got.AwareLeast, 1e-12, name)
		assert.InDelta(t, test.want.AwareMost, got.AwareMost, 1e-12, name)
		assert.InDelta(t, test.want.Saving, got.Saving, 1e-12, name)
		assert.Equal(t, test.want.Wins, got.Wins, name)
	}
}

func TestMostRequests(t *testing.T) {
	const gigabit = 1e9 / 8
	for _, test := range []struct {
		cards, servers int
		want           float64
	}{{1, 8, 238.42}, {1, 48, 39.74}, {3, 48, 119.21}} {
		assert.InDelta(t, test.want, MostRequests(float64(test.cards)*gigabit, test.servers, StripBytes), 0.01)
	}
}

func TestMeasuredCostsAreAboveZero(t *testing.T) {
	r, err := Run(t.Context(), small())
	if err != nil || r.Model == nil {
		t.Skip(err, r.ModelWhy)
	}
	assert.Positive(t, r.Model.Strip)
	assert.GreaterOrEqual(t, r.Model.Move, 0.0)
	assert.Equal(t, Predict(r.Model.Costs, r.Model.Shape), r.Model.Prediction)
}
