package runner

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// TestThePlacementsOwnMoveIsNoMigration: threads that may run on one CPU migrate nowhere, from
// wherever they were moved there.
func TestThePlacementsOwnMoveIsNoMigration(t *testing.T) {
	allowed, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	if allowed.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	r := newRunner(t)
	r.Place = func(_ context.Context, pid kernel.TID, _ bench.Spec) (bench.Placed, error) {
		st, err := r.Proc.Stat(pid)
		if err != nil {
			return bench.Placed{}, err
		}
		other := allowed.AndNot(cpuset.Of(cpuset.CPU(st.LastCPU))).First()
		var mask unix.CPUSet
		mask.Set(int(other))
		for known := -1; ; { // a thread that starts meanwhile has the mask of who starts it
			tids, err := r.Proc.Threads(pid)
			for _, tid := range tids {
				err = errors.Join(err, unix.SchedSetaffinity(int(tid), &mask))
			}
			if err != nil || len(tids) == known {
				return bench.Placed{CPUs: cpuset.Of(other).String()}, err
			}
			known = len(tids)
		}
	}
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "10"}, Placements: []bench.Placement{"least-loaded"}, Runs: 4}
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	for _, run := range res.Runs {
		require.Empty(t, run.Err)
		assert.Zero(t, run.Migrations)
	}
}

// TestPerfLeavesOutThePlacementsOwnMove of a task that sleeps until then.
func TestPerfLeavesOutThePlacementsOwnMove(t *testing.T) {
	allowed, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	if allowed.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	r := newRunner(t)
	echo := exec.Command("cat")
	in, err := echo.StdinPipe()
	require.NoError(t, err)
	out, err := echo.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, echo.Start())
	t.Cleanup(func() { _ = in.Close(); _ = echo.Wait() })
	pid, lines := kernel.TID(echo.Process.Pid), bufio.NewReader(out)
	answer := func() {
		_, err := io.WriteString(in, "x\n")
		require.NoError(t, err)
		_, err = lines.ReadString('\n')
		require.NoError(t, err)
	}
	sleeping := func() bool { st, err := r.Proc.Stat(pid); return err == nil && st.State == 'S' }
	for _, told := range []bool{false, true} {
		var outside []kernel.TID
		// Since Linux 6.12 a task that sleeps may be queued still, and is moved at once.
		require.Eventually(t, func() bool {
			answer()
			require.Eventually(t, sleeping, time.Minute, time.Millisecond)
			st, err := r.Proc.Stat(pid)
			require.NoError(t, err)
			to := cpuset.Of(allowed.AndNot(cpuset.Of(cpuset.CPU(st.LastCPU))).First())
			var mask unix.CPUSet
			mask.Set(int(to.First()))
			require.NoError(t, unix.SchedSetaffinity(int(pid), &mask))
			outside = r.outside(pid, to)
			return len(outside) == 1
		}, time.Minute, time.Millisecond)
		want := 0.0
		if !told {
			outside, want = nil, 1
		}
		counters := openPerf(r.Proc, pid, [][]kernel.Counter{{kernel.TaskMigrations}}, outside)
		if len(counters.counters) == 0 {
			t.Skip("migrations cannot be counted here: ", counters.missing)
		}
		answer()
		counts, _ := counters.read()
		counters.close()
		require.Len(t, counts, 1)
		assert.Equal(t, want, counts[0].Value)
	}
}

// Threads that cannot be listed any more have no figures to correct.
func TestCountOfAProcessThatHasEnded(t *testing.T) {
	r := newRunner(t)
	r.Proc = procfs.New(t.TempDir())
	var run bench.RunResult
	r.count(5, []kernel.TID{5}).into(&run)
	assert.False(t, run.HaveMigrations())
	assert.False(t, run.HaveRunDelay)
}
