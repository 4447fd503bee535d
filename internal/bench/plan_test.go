package bench

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// alternating are runs of a and b that differ by noise of that share.
func alternating(n int, noise float64) Results {
	r := Results{Study: Study{Workload: "nqueens", Placements: []Placement{"a", "b"}, Runs: 10, Until: 0.01}}
	for i := range n {
		for _, p := range r.Study.Placements {
			v := 1 + noise*float64(i%5-2)/2
			r.Runs = append(r.Runs, RunResult{Workload: "nqueens", Placement: p, Index: i, Metric: v, Seconds: v})
		}
	}
	return r
}

func TestUntilEndsWhenIntervalsAreNarrow(t *testing.T) {
	quiet, noisy := alternating(10, 0.005), alternating(10, 0.1)
	assert.True(t, quiet.Study.over(10, 0, quiet))
	assert.False(t, quiet.Study.over(9, 0, quiet), "it has not its ten runs")
	assert.False(t, noisy.Study.over(10, 0, noisy))
	noisy.Study.Budget = time.Minute
	assert.False(t, noisy.Study.over(10, 59*time.Second, noisy))
	assert.True(t, noisy.Study.over(10, time.Minute, noisy), "the budget is spent")
	assert.True(t, noisy.Study.over(2, time.Minute, noisy), "whatever it has by then")
	few := alternating(4, 0)
	assert.False(t, narrow(few.arms(), 0.5), "no interval, no end")
}

// TestTheBudgetCountsWhatIsBetweenRuns: the runs of a round take a few
// milliseconds, who watches them takes the budget.
func TestTheBudgetCountsWhatIsBetweenRuns(t *testing.T) {
	study := Study{Workload: "sleep", Placements: []Placement{Normal}, Runs: 5, Budget: 200 * time.Millisecond}
	res, err := newRunner(t).Run(t.Context(), study, func(e Event) {
		if e.Kind == RunEnded {
			time.Sleep(study.Budget)
		}
	})
	require.NoError(t, err)
	assert.Len(t, res.Runs, 1)
}

func TestEstimateKeepsToTheBudget(t *testing.T) {
	e := estimate{study: Study{Placements: []Placement{"a"}, Runs: 100, Budget: 30 * time.Second}}
	e.add(10 * time.Second)
	left, have := e.remaining()
	assert.True(t, have)
	assert.Equal(t, 20*time.Second, left)
	e.study.Until, e.study.Runs = 0.01, 1
	left, have = e.remaining()
	assert.True(t, have)
	assert.Equal(t, 20*time.Second, left, "nobody knows how many runs it takes")
	e.study.Budget = 0
	_, have = e.remaining()
	assert.False(t, have)
}

// Background load slows a run on a machine whose every CPU it takes, and is gone
// with the study.
func TestNoiseRunsWithTheStudy(t *testing.T) {
	r := newRunner(t)
	study := Study{Workload: "nqueens", Args: []string{"-n", "11"}, Placements: []Placement{Normal}, Runs: 1, Noise: 2}
	require.NoError(t, study.Validate())
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	load, err := r.startNoise(2)
	require.NoError(t, err)
	require.Len(t, load, 2)
	pid := load[0].PID
	require.Eventually(t, func() bool {
		ns, err := kernel.ProcessTime(pid)
		return err == nil && ns > 100e6
	}, 20*time.Second, 5*time.Millisecond, "it spins")
	load.stop()
	assert.True(t, gone(pid))
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	require.Empty(t, res.Runs[0].Err)
	assert.Equal(t, "2680", res.Runs[0].Answer)
}
