package runner

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
)

func TestAFullDiskLosesNothingInMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "piton")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if err := syscall.Mount("piton-test", dir, "tmpfs", 0, "size=4096,mode=700"); err != nil {
		t.Skipf("needs root to mount a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "full"), make([]byte, 4096), 0o600))
	path := filepath.Join(dir, "results.jsonl")
	r := newRunner(t)
	r.Store = store.New(path)
	res, err := r.Run(t.Context(), bench.Study{Workload: "sleep", Placements: []bench.Placement{bench.Normal}, Runs: 3}, nil)
	require.NoError(t, err)
	assert.ErrorIs(t, res.StoreErr, syscall.ENOSPC)
	assert.ErrorContains(t, res.StoreErr, "store results")
	assert.Len(t, res.Runs, 3)
	assert.Empty(t, res.Runs[2].Err)
}

// TestOneBadRecordIsTheOnlyOneLost: a figure that JSON cannot say is no reason
// not to keep the runs after it.
func TestOneBadRecordIsTheOnlyOneLost(t *testing.T) {
	r := newRunner(t)
	r.Store = store.New(filepath.Join(t.TempDir(), "results.jsonl"))
	study := bench.Study{Workload: "sleep", Placements: []bench.Placement{bench.Normal}, Runs: 1, Grid: "g", Cell: "sleep"}
	results, err := r.Begin(study)
	require.NoError(t, err)
	results.StoreErr = r.Store.Add(results.ID, bench.RunResult{Metric: math.NaN()})
	require.ErrorIs(t, results.StoreErr, store.ErrUnwritable)
	require.NoError(t, r.Round(t.Context(), &results, nil))
	require.ErrorIs(t, results.StoreErr, store.ErrUnwritable, "and is told at the end")
	h, err := r.Store.Read()
	require.NoError(t, err)
	require.Len(t, h.Studies, 1)
	assert.Len(t, h.Studies[0].Runs, 1)
}

func TestTheRunnerKeepsItsRuns(t *testing.T) {
	r := newRunner(t)
	r.Store = store.New(filepath.Join(t.TempDir(), "results.jsonl"))
	r.Conditions = func() bench.Conditions { return bench.ReadConditions("/", "test") }
	res, err := r.Run(t.Context(), bench.Study{Workload: "nqueens", Args: []string{"-n", "6"}, Placements: []bench.Placement{bench.Normal}, Runs: 2}, nil)
	require.NoError(t, err)
	require.NoError(t, res.StoreErr)
	h, err := r.Store.Read()
	require.NoError(t, err)
	require.Len(t, h.Studies, 1)
	assert.Equal(t, res.ID, h.Studies[0].ID)
	assert.Equal(t, res.Conditions, h.Studies[0].Conditions)
	require.Len(t, h.Studies[0].Runs, 2)
	assert.Equal(t, "4", h.Studies[0].Runs[1].Answer)
	assert.InDelta(t, res.Runs[0].Metric, h.Studies[0].Runs[0].Metric, 1e-9)
}

// TestNothingIsKeptOfAStudyWithoutARun: one that is canceled before its first run is not listed.
func TestNothingIsKeptOfAStudyWithoutARun(t *testing.T) {
	r := newRunner(t)
	r.Store = store.New(filepath.Join(t.TempDir(), "results.jsonl"))
	study := bench.Study{Workload: "sleep", Args: []string{"--ms", "0"}, Placements: []bench.Placement{bench.Normal}, Runs: 2}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.Run(ctx, study, func(bench.Event) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	_, err = os.Stat(r.Store.Path())
	require.ErrorIs(t, err, fs.ErrNotExist)
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	require.NoError(t, res.StoreErr)
	h, err := r.Store.Read()
	require.NoError(t, err)
	require.Len(t, h.Studies, 1)
	assert.Equal(t, res.Study, h.Studies[0].Study)
	assert.Len(t, h.Studies[0].Runs, 2)
}
