package runner

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/kernel"
)

// TestGridIsResumed makes a round and a half, loses the process, and goes on from
// the file.
func TestGridIsResumed(t *testing.T) {
	r := newRunner(t)
	r.Store = store.New(filepath.Join(t.TempDir(), "results.jsonl"))
	g := bench.NewGrid([]string{"nqueens"}, time.Minute)
	require.NoError(t, r.Store.Grid(g))
	cell, err := r.Begin(bench.Study{Workload: "nqueens", Args: []string{"-n", "6"}, Placements: []bench.Placement{bench.Normal, "batch"}, Runs: 3, Noise: 1, Grid: g.ID, Cell: "6/quiet"})
	require.NoError(t, err)
	require.NoError(t, r.Round(t.Context(), &cell, nil))
	assert.Equal(t, 1, cell.Rounds())

	ctx, cancel := context.WithCancel(t.Context())
	place := r.Place
	r.Place = func(c context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		if spec.Policy == kernel.Other { // the second of this round
			cancel()
		}
		return place(c, pid, spec)
	}
	require.ErrorIs(t, r.Round(ctx, &cell, nil), context.Canceled)
	r.Place = place

	h, err := r.Store.Read()
	require.NoError(t, err)
	require.Len(t, h.Grids, 1)
	assert.True(t, h.Grids[0].Ended.IsZero())
	cells := h.Cells(g.ID)
	require.Len(t, cells, 1)
	again := cells[0]
	assert.Equal(t, "6/quiet", again.Study.Cell)
	assert.Len(t, again.Runs, 3, "two of the first round and one of the second")
	require.NoError(t, r.Round(t.Context(), &again, nil))
	assert.Len(t, again.Runs, 4, "the missing one alone")
	assert.Equal(t, 2, again.Rounds())
	for _, run := range again.Runs {
		assert.True(t, run.Valid(), run.Err)
	}

	g.Ended = time.Now()
	require.NoError(t, r.Store.Grid(g))
	h, err = r.Store.Read()
	require.NoError(t, err)
	require.Len(t, h.Grids, 1)
	assert.False(t, h.Grids[0].Ended.IsZero())
}

// TestAGridIsHeldOnce, also by Stores of one process, as the screen may have.
func TestAGridIsHeldOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "results.jsonl")
	release, err := store.New(path).Hold("a")
	require.NoError(t, err)
	require.NotNil(t, release)
	other, err := store.New(path).Hold("a")
	require.NoError(t, err)
	assert.Nil(t, other)
	b, err := store.New(path).Hold("b")
	require.NoError(t, err)
	require.NotNil(t, b)
	b()
	release()
	other, err = store.New(path).Hold("a")
	require.NoError(t, err)
	require.NotNil(t, other)
	other()
}

// TestExtendAddsRoundsToTheSameStudy until its intervals are narrow, also where the last
// round is not complete; the trial of a size is kept nowhere.
func TestExtendAddsRoundsToTheSameStudy(t *testing.T) {
	r := newRunner(t)
	r.Store = store.New(filepath.Join(t.TempDir(), "results.jsonl"))
	study := bench.Study{Workload: "sleep", Placements: []bench.Placement{"normal", "batch"}, Runs: 2, Warmup: 1}
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	res.Runs = res.Runs[:5] // the sixth was lost
	res.Study.Until, res.Study.Budget = 0.9, time.Minute
	more, err := r.Extend(t.Context(), res, nil)
	require.NoError(t, err)
	assert.Len(t, res.Runs, 5, "what is shown meanwhile stays as it is")
	assert.Equal(t, res.ID, more.ID)
	assert.True(t, more.Narrow(0.9))
	seen := map[bench.Placement]int{}
	for _, run := range more.Runs[2:] {
		assert.Equal(t, seen[run.Placement], run.Index, "in their order, none twice")
		seen[run.Placement]++
	}
	assert.GreaterOrEqual(t, seen["normal"], 6, "an interval needs six runs")
	assert.Equal(t, seen["normal"], seen["batch"])

	trial, err := r.Trial(t.Context(), study)
	require.NoError(t, err)
	assert.NotEmpty(t, trial.Runs)
	h, err := r.Store.Read()
	require.NoError(t, err)
	require.Len(t, h.Studies, 1, "the same study")
	assert.InDelta(t, 0.9, h.Studies[0].Study.Until, 1e-9)
}
