package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/workloads/workload"
)

// ten are ten figures around a middle one, within a share of it.
func ten(middle, within float64) []float64 {
	out := make([]float64, 10)
	for i := range out {
		out[i] = middle * (1 + within*(float64(i)-4.5)/4.5)
	}
	return out
}

// TestAnswer has each outcome that a study can have.
func TestAnswer(t *testing.T) {
	base := ten(1, 0.005)
	for _, tc := range []struct {
		name  string
		arms  [][]float64
		want  string
		brief string
	}{
		{"better", [][]float64{base, ten(1.001, 0.005), ten(0.98, 0.005), ten(1, 0.005)},
			"fifo:10 is 2.0 % faster than normal (1.7 to 2.3 %, p < 0.001). No other placement differs by more than 0.48 %.", "fifo:10 2.0 % faster"},
		{"better, the other not", [][]float64{base, ten(0.98, 0.005), ten(1, 0.005)},
			"least-loaded is 2.0 % faster than normal (1.7 to 2.3 %, p < 0.001). fifo:10 does not differ from normal by more than 0.48 %.", "least-loaded 2.0 % faster"},
		{"several better", [][]float64{base, ten(0.9, 0.005), ten(0.8, 0.005)},
			"fifo:10 is 20 % faster than normal (20 to 20 %, p < 0.001); least-loaded is 10 % faster.", "fifo:10 20 % faster"},
		{"better and worse", [][]float64{base, ten(1.1, 0.005), ten(0.9, 0.005)},
			"fifo:10 is 10 % faster than normal (10 to 10 %, p < 0.001). least-loaded is 10 % slower.", "fifo:10 10 % faster"},
		{"worse", [][]float64{base, ten(1.1, 0.005)}, "least-loaded is 10 % slower than normal (10 to 10 %, p < 0.001).", "least-loaded 10 % slower"},
		{"none differs", [][]float64{base, ten(1.0005, 0.005), base, base}, "No placement differs from normal by more than 0.48 %.", "no difference ±0.48 %"},
		{"the only one does not differ", [][]float64{base, base}, "least-loaded does not differ from normal by more than 0.48 %.", "no difference ±0.48 %"},
		{"not enough evidence", [][]float64{ten(1, 0.5), ten(1.1, 0.5)}, "Not enough evidence of a difference from normal: an effect under 69 % would not be seen.", "not enough evidence"},
		{"better, of another not enough evidence", [][]float64{base, ten(0.9, 0.005), ten(1, 0.5)},
			"least-loaded is 10 % faster than normal (10 to 10 %, p < 0.001). For fifo:10 there is not enough evidence: an effect under 51 % would not be seen.", "least-loaded 10 % faster"},
		{"too few", [][]float64{base[:3], base[:3], base[:3]}, "Too few runs to judge (3 and 3): use 5 or more.", "too few runs"},
		{"one has too few", [][]float64{base, ten(0.9, 0.005), base[:2]},
			"least-loaded is 10 % faster than normal (10 to 10 %, p < 0.001). fifo:10: too few runs.", "least-loaded 10 % faster"},
		{"nothing to compare with", [][]float64{nil, base}, "There is no run of normal to compare with.", "no run"},
		{"nothing to compare", [][]float64{base, nil}, "No placement has a run to compare with normal.", "nothing to compare: no valid run"},
		{"one placement", [][]float64{base}, "normal: time 1 s (0.996–1.00 s).", "1 s"},
		{"no placement", nil, "", "no run"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rep := Judge(study(tc.arms...))
			assert.Equal(t, tc.want, rep.Answer())
			assert.Equal(t, tc.brief, rep.Brief())
		})
	}
	failed := study(nil, base)
	failed.Runs = append(failed.Runs, RunResult{Placement: Normal, Err: "wrong"})
	assert.Equal(t, "Every run of normal failed, so there is nothing to compare with.", Judge(failed).Answer())
}

func TestAnswerOfOtherFigures(t *testing.T) {
	answer := func(m workload.Metric, other []float64) string {
		arms := study(ten(100, 0.005), other).Arms()
		rep := Report{Metric: m, Arms: arms, Comparisons: []Comparison{compare(m, arms[0], arms[1])}}
		correct(rep.Comparisons, 0)
		return rep.Answer()
	}
	assert.Equal(t, "least-loaded gives 12 % more messages/s than normal (12 to 12 %, p < 0.001).",
		answer(workload.Metric{Name: "throughput", Unit: "messages/s", HigherIsBetter: true}, ten(112, 0.005)))
	assert.Equal(t, "least-loaded: 10 % shorter memory latency than normal (10 to 10 %, p < 0.001).",
		answer(workload.Metric{Name: "memory latency", Unit: "ns"}, ten(90, 0.005)))
	assert.Equal(t, "least-loaded gives 10 % less time lost than normal, better (10 to 10 %, p < 0.001).",
		answer(workload.Metric{Name: "time lost", Unit: "%"}, ten(90, 0.005)))
}

// TestEffectsAreBetterToTheRight whichever figures are better.
func TestEffectsAreBetterToTheRight(t *testing.T) {
	rate := workload.Metric{Unit: "/s", HigherIsBetter: true}
	for _, tc := range []struct {
		metric workload.Metric
		other  float64
	}{{workload.Metric{}, 0.9}, {rate, 1.1}} {
		arms := study(ten(1, 0.005), ten(tc.other, 0.005)).Arms()
		cs := []Comparison{compare(tc.metric, arms[0], arms[1])}
		correct(cs, 0)
		r := cs[0].Effect()
		assert.InDelta(t, 0.1, r.Value, 0.001)
		assert.Less(t, r.Low, r.Value)
		assert.Greater(t, r.High, r.Value)
		assert.Positive(t, r.Low)
	}
}
