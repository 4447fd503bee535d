package runner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/kernel"
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
		tids, err := r.Proc.Threads(pid)
		var mask unix.CPUSet
		mask.Set(int(other))
		for _, tid := range tids {
			err = errors.Join(err, unix.SchedSetaffinity(int(tid), &mask))
		}
		return bench.Placed{CPUs: cpuset.Of(other).String()}, err
	}
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "10"}, Placements: []bench.Placement{"least-loaded"}, Runs: 4, Counters: true}
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	// A thread of the runtime that wakes while it is moved can count once more, in one run of many;
	// with the placement's move counted none has 0.
	assert.True(t, slices.ContainsFunc(res.Runs, func(run bench.RunResult) bool {
		require.Empty(t, run.Err)
		return run.Migrations == 0 && !slices.ContainsFunc(run.Counts, func(c bench.Count) bool {
			return c.Name == kernel.TaskMigrations.Name && c.Value > 0
		})
	}), "%+v", res.Runs)
}
