package runner

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/kernel"
)

// alternating are runs of a and b that differ by noise of that share.
func alternating(n int, noise float64) bench.Results {
	r := bench.Results{Study: bench.Study{Workload: "nqueens", Placements: []bench.Placement{"a", "b"}, Runs: 10, Until: 0.01}}
	for i := range n {
		for _, p := range r.Study.Placements {
			v := 1 + noise*float64(i%5-2)/2
			r.Runs = append(r.Runs, bench.RunResult{Workload: "nqueens", Placement: p, Index: i, Metric: v, Seconds: v})
		}
	}
	return r
}

func TestUntilEndsWhenIntervalsAreNarrow(t *testing.T) {
	quiet, noisy := alternating(10, 0.005), alternating(10, 0.1)
	assert.True(t, over(quiet.Study, 10, 0, quiet))
	assert.False(t, over(quiet.Study, 9, 0, quiet), "it has not its ten runs")
	assert.False(t, over(noisy.Study, 10, 0, noisy))
	noisy.Study.Budget = time.Minute
	assert.False(t, over(noisy.Study, 10, 59*time.Second, noisy))
	assert.True(t, over(noisy.Study, 10, time.Minute, noisy), "the budget is spent")
	assert.True(t, over(noisy.Study, 2, time.Minute, noisy), "whatever it has by then")
	few := alternating(4, 0)
	assert.False(t, few.Narrow(0.5), "no interval, no end")
}

// TestTheBudgetCountsWhatIsBetweenRuns: the runs of a round take a few
// milliseconds, who watches them takes the budget.
func TestTheBudgetCountsWhatIsBetweenRuns(t *testing.T) {
	study := bench.Study{Workload: "sleep", Placements: []bench.Placement{bench.Normal}, Runs: 5, Budget: 200 * time.Millisecond}
	res, err := newRunner(t).Run(t.Context(), study, func(e bench.Event) {
		if e.Ended {
			time.Sleep(study.Budget)
		}
	})
	require.NoError(t, err)
	assert.Len(t, res.Runs, 1)
}

func TestEstimateKeepsToTheBudget(t *testing.T) {
	e := estimate{study: bench.Study{Placements: []bench.Placement{"a"}, Runs: 100, Budget: 30 * time.Second}}
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
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "11"}, Placements: []bench.Placement{bench.Normal}, Runs: 1, Noise: 2}
	require.NoError(t, study.Validate())
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	before := pipes(t)
	load, err := r.startNoise(2)
	require.NoError(t, err)
	require.Len(t, load, 2)
	assert.Equal(t, 2, pipes(t)-before, "one for each process, of which there may be MaxNoise")
	pid := load[0].PID
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	assert.Contains(t, string(environ), quickExit)
	assert.NotContains(t, string(environ), "asyncpreemptoff", "it is no workload")
	for _, fd := range []int{1, 2} {
		file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		require.NoError(t, err)
		assert.Equal(t, os.DevNull, file)
	}
	require.Eventually(t, func() bool {
		ns, err := kernel.ProcessTime(pid)
		return err == nil && ns > 100e6
	}, time.Minute, 5*time.Millisecond, "it spins")
	load.stop()
	assert.True(t, gone(pid))
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	require.Empty(t, res.Runs[0].Err)
	assert.Equal(t, "2680", res.Runs[0].Answer)
}

// pipes is how many ends of pipes this process has open.
func pipes(t *testing.T) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, fd := range fds {
		file, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && strings.HasPrefix(file, "pipe:") {
			n++
		}
	}
	return n
}

func TestUntilUnderstandsNegativeFigures(t *testing.T) {
	below := alternating(10, 0.005)
	for i := range below.Runs {
		below.Runs[i].Metric *= -1
	}
	assert.True(t, below.Narrow(0.01))
	assert.False(t, below.Narrow(0.0001))
}
