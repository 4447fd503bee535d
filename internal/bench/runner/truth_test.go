package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/workloads/workload"
)

// The judge is truthful if it finds no difference where there is none and finds
// one that is there. make truth measures both on this machine; its figures are
// in the README.

const (
	truthVariable = "PITON_TRUTH" // comparisons of a placement with itself
	slowVariable  = "PITON_TRUTH_SLOW"
	slowdown      = 0.05
	same          = bench.Placement("nice:0") // does what Normal does under another name
)

// truths is how many comparisons to make.
func truths(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv(truthVariable))
	if err != nil || n < 1 {
		t.Skip("make truth runs it, for some minutes")
	}
	return n
}

// fixedWork takes a while that does not depend on the machine's load but for
// being interrupted, and longer by slowdown if its number was noted.
func fixedWork(_ context.Context, v workload.Values) (workload.Outcome, error) {
	rounds := v.Int("rounds")
	if _, err := os.Stat(filepath.Join(os.Getenv(slowVariable), fmt.Sprint(os.Getpid()))); err == nil {
		rounds += int(float64(rounds) * slowdown)
	}
	began := time.Now()
	x := uint64(1)
	for range rounds {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	took := time.Since(began)
	runtime.KeepAlive(x)
	return workload.Outcome{Answer: "done", Seconds: took.Seconds()}, nil
}

// verdicts makes so many studies of Normal and what is the same to the kernel, and
// returns in how many the judge called them different.
func verdicts(t *testing.T, studies, runs, noise int, slow bool) (different int) {
	r := newRunner(t)
	dir := t.TempDir()
	r.Env = append(r.Env, slowVariable+"="+dir)
	r.Place = func(_ context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		if slow && spec.Name() == same {
			return bench.Placed{}, os.WriteFile(filepath.Join(dir, fmt.Sprint(pid)), nil, 0o600)
		}
		return bench.Placed{}, nil
	}
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	load, err := r.startNoise(noise)
	require.NoError(t, err)
	defer load.stop()
	for i := range studies {
		study := bench.Study{Workload: "fixed", Placements: []bench.Placement{bench.Normal, same}, Runs: runs, Warmup: 1}
		res, err := r.Run(t.Context(), study, nil)
		require.NoError(t, err)
		c := bench.Judge(res).Comparisons[0]
		require.Equal(t, runs, c.Other.Runs, "%+v", res.Runs)
		require.Empty(t, c.Unjudged, "what is not judged is not judged wrong")
		if c.Different {
			different++
			t.Logf("study %d: %s", i+1, c.Verdict)
		}
	}
	return different
}

func TestTruthOfSame(t *testing.T) {
	n := truths(t)
	found := verdicts(t, n, 10, 2, false)
	t.Logf("A/A on a noisy machine: %d of %d comparisons of 10 runs each called different (%.1f%%)", found, n, 100*float64(found)/float64(n))
	assert.LessOrEqual(t, float64(found), 0.05*float64(n))
}

func TestTruthOfSlowdown(t *testing.T) {
	n := truths(t) / 4
	found := verdicts(t, n, 20, 0, true)
	t.Logf("%.0f%% slower: found in %d of %d comparisons of 20 runs each (%.1f%%)", slowdown*100, found, n, 100*float64(found)/float64(n))
	assert.GreaterOrEqual(t, float64(found), 0.9*float64(n))
}
