package runner

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/procfs"
)

// TestOthersAreWhatTheRunDidNotUse: of the time that the CPUs were busy the run's own is
// left out, but for what it used before its work began.
func TestOthersAreWhatTheRunDidNotUse(t *testing.T) {
	root := t.TempDir()
	stat := func(text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "stat"), []byte(text), 0o600))
	}
	r := &Runner{Proc: procfs.New(root)}
	stat("cpu 0\ncpu0 100 0 5 80 0 0 0 5 0 0\ncpu1 10 0 5 80 0 0 0 5 0 0\n")
	then := host{bench.ReadHostTicks(r.Proc), 50 * time.Millisecond}
	stat("cpu 0\ncpu0 160 0 25 80 0 0 0 5 0 0\ncpu1 10 0 5 180 0 0 0 5 0 0\n")
	run := bench.RunResult{Wall: time.Second}
	r.besides(then, &run)
	less(&run, 600*time.Millisecond)
	require.True(t, run.HaveOthers)
	assert.InDelta(t, 0.25, run.Others, 1e-9)

	run = bench.RunResult{}
	r.besides(then, &run)
	assert.False(t, run.HaveOthers, "it did not run")
	run = bench.RunResult{Wall: 20 * time.Millisecond}
	r.besides(then, &run)
	assert.False(t, run.HaveOthers, "two ticks are no measure")
}
