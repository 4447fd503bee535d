package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads/workload"
)

// compared compares two samples of a metric, as a study of them would.
func compared(metric workload.Metric, base, other []float64) Comparison {
	r := study(base, other)
	arms := r.Arms()
	cs := []Comparison{compare(metric, arms[0], arms[1])}
	correct(cs, 0)
	return cs[0]
}

// around are eleven figures next to a middle one.
func around(middle float64) []float64 {
	out := make([]float64, 11)
	for i := range out {
		out[i] = middle + float64(i-5)/100
	}
	return out
}

var zeros = make([]float64, 10)

// TestFiguresOf0OrLess have a verdict in the right direction, and no share where
// there is nothing that it could be of.
func TestFiguresOf0OrLess(t *testing.T) {
	rate, score := workload.Metric{Name: "migrations", Unit: "/s"}, workload.Metric{Name: "score", Unit: "dB", HigherIsBetter: true}
	few := append(append([]float64{}, zeros...), zeros...)
	many := append(append([]float64{}, few...), around(1)...)
	for _, tc := range []struct {
		name        string
		metric      workload.Metric
		base, other []float64
		better      bool
		verdict     string
	}{
		{"lost", rate, around(4), zeros, true, "100 % less migrations, better (99 to 100 %, p < 0.001)"},
		{"won", rate, zeros, around(12), false, "12 /s more migrations, worse (12.0 to 12.0 /s, p < 0.001)"},
		{"negative", score, around(-30), around(-20), true, "10 dB more score, better (9.97 to 10.0 dB, p < 0.001)"},
		{"more negative", score, around(-20), around(-30), false, "10 dB less score, worse (9.97 to 10.0 dB, p < 0.001)"},
		{"to above 0", score, around(-5), around(5), true, "10 dB more score, better (9.97 to 10.0 dB, p < 0.001)"},
		{"to below 0", score, around(10), around(-10), false, ""},
		{"most of them 0", rate, few, many, false, "0 /s more migrations, worse (0 to 0.950 /s, p = 0.003)"},
		{"below a nanosecond", workload.Metric{}, scaled(around(1), 1e-12), scaled(around(2), 1e-12), false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := compared(tc.metric, tc.base, tc.other)
			require.True(t, c.Different)
			assert.Equal(t, tc.better, c.Better())
			if tc.verdict != "" {
				assert.Equal(t, tc.verdict, c.Verdict)
			}
		})
	}
	assert.Equal(t, "12 more x, worse (12.0 to 12.0, p < 0.001)", compared(workload.Metric{Name: "x"}, zeros, around(12)).Verdict)
	assert.Equal(t, "no difference ±0 /s", compared(rate, zeros, zeros).Verdict)
}

func scaled(values []float64, factor float64) []float64 {
	for i := range values {
		values[i] *= factor
	}
	return values
}
