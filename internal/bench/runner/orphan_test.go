package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

const parentMode = "piton-test-parent"

// runParent is a piton that runs a study of minutes and prints its child's PID.
func runParent() {
	r := &Runner{
		Command: []string{os.Args[0], childMode}, Scheduler: kernel.System(), Proc: procfs.New("/"),
		Place: func(context.Context, kernel.TID, bench.Spec) (bench.Placed, error) { return bench.Placed{}, nil },
	}
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "18"}, Placements: []bench.Placement{bench.Normal}, Runs: 1, Timeout: time.Minute}
	_, _ = r.Run(context.Background(), study, func(e bench.Event) { fmt.Println(e.Run.PID) })
}

// A child must not go on computing for minutes when piton was killed.
func TestChildDiesWithAKilledParent(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	parent := exec.Command(exe, parentMode)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	assert.Eventually(t, func() bool { return ended(pid) }, time.Minute, 5*time.Millisecond)
}

// ended reports whether the process is gone or waits for whoever inherited it
// to reap it.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

func TestRealTimePlacementHoldsForAllThreads(t *testing.T) {
	r := newRunner(t)
	r.Place = func(_ context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		threads, err := r.Proc.Threads(pid)
		for _, tid := range threads {
			err = errors.Join(err, kerneltest.Of(t, pid, tid).SetPolicy(spec.Policy, spec.RTPrio, false))
		}
		return bench.Placed{}, err
	}
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "11", "--threads", "2"}, Placements: []bench.Placement{"fifo:10", "rr:10"}, Runs: 1}
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	for _, run := range res.Runs {
		if strings.Contains(run.Err, "operation not permitted") {
			t.Skip("setting a real-time policy is not permitted here: " + run.Err)
		}
		assert.Empty(t, run.Err)
		assert.Equal(t, "2680", run.Answer)
		assert.False(t, run.Touched, run.TouchedWhat)
	}
}
