package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads"
)

// took is a study of a workload with runs of so many seconds.
func took(seconds float64, workload string, args ...string) Results {
	s := Study{Workload: workload, Args: args, Placements: []Placement{Normal}, Runs: 1}.Canonical()
	return Results{Study: s, Runs: []RunResult{{Placement: Normal, Seconds: seconds}}}
}

// TestFittedRunsTake03To1Seconds whatever the machine's speed is.
func TestFittedRunsTake03To1Seconds(t *testing.T) {
	for _, tc := range []struct {
		known []Results
		start Study
		want  string
	}{
		{[]Results{took(0.0246, "nqueens")}, Study{Workload: "nqueens"}, "n 15"},
		{[]Results{took(0.01, "nqueens")}, Study{Workload: "nqueens"}, "n 15"},
		{[]Results{took(0.1, "nqueens")}, Study{Workload: "nqueens"}, "n 14"},
		{[]Results{took(0.5, "nqueens")}, Study{Workload: "nqueens"}, "n 13"},
		{[]Results{took(6.2, "nqueens", "-n", "16")}, Study{Workload: "nqueens"}, "n 15"},
		{[]Results{took(0.15, "matrix")}, Study{Workload: "matrix"}, "n 790"},
		{[]Results{took(0.15, "matrix"), took(0.4, "matrix", "-n", "700")}, Study{Workload: "matrix"}, "n 700"},
		{[]Results{took(0.0246, "nqueens"), took(0.0002, "nqueens", "-n", "9")}, Study{Workload: "nqueens"}, "n 15"},
		{[]Results{took(0.0246, "nqueens", "-n", "13"), took(0.0016, "nqueens", "-n", "11")}, Study{Workload: "nqueens", Args: []string{"-n", "14"}}, "n 15"},
		{[]Results{took(1.0003, "activity")}, Study{Workload: "activity"}, "ms 1000"},
		{[]Results{took(0.02, "chat")}, Study{Workload: "chat"}, "messages 1500"},
		{[]Results{took(40, "chat")}, Study{Workload: "chat"}, "messages 1"},
	} {
		fit, ok := tc.start.Canonical().Fitted(tc.known)
		require.True(t, ok, tc.want)
		assert.Equal(t, tc.want, fit.Length())
	}
	for _, known := range [][]Results{nil, {took(1, "matrix")}, {took(1, "nqueens", "--threads", "2")}, {took(0.0002, "nqueens", "-n", "9")}} {
		_, ok := Study{Workload: "nqueens"}.Canonical().Fitted(known)
		assert.False(t, ok)
	}
	_, ok := Study{Workload: "memlat"}.Canonical().Fitted([]Results{took(9, "memlat")})
	assert.False(t, ok, "its size is chosen by the caches")
}

func TestForecastOfAnotherLength(t *testing.T) {
	s := Study{Workload: "nqueens", Args: []string{"-n", "15"}, Placements: []Placement{Normal, "batch"}, Runs: 20, Warmup: 2}.Canonical()
	f, ok := s.Forecast([]Results{took(0.0222, "nqueens")})
	require.True(t, ok)
	assert.Equal(t, "about 0.8 s a run, 44 runs, 34 s", f.Sentence())
	assert.Equal(t, "n 15", s.Length())
	f, _ = s.Forecast([]Results{took(2, "nqueens", "-n", "15"), took(0.0222, "nqueens")})
	assert.InDelta(t, 2, f.Work, 1e-9, "the same length is preferred")
	assert.Equal(t, "Runs of 24.6 ms are too short to judge: use a larger -n (15 takes about 0.8 s).", Study{Workload: "nqueens"}.Canonical().ShortRuns(0.0246))
}

// TestDefaultPlacementsAreTheWorkloadsOwn: 100 threads pinned to one CPU compare nothing.
func TestDefaultPlacementsAreTheWorkloadsOwn(t *testing.T) {
	for _, w := range workloads.All {
		all := DefaultPlacements(w, true)
		assert.Len(t, all, len(w.Placements), "%s needs Placements, the base first", w.Name)
		assert.Equal(t, Normal, all[0], w.Name)
		for _, p := range DefaultPlacements(w, false) {
			spec, err := ParsePlacement(string(p))
			require.NoError(t, err)
			assert.False(t, spec.Privileged())
		}
		assert.GreaterOrEqual(t, len(DefaultPlacements(w, false)), 2, w.Name)
	}
	assert.Equal(t, []Placement{"normal", "spread", "llc"}, DefaultPlacements(workloads.All[1], false))
}
