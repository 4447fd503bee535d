package runner

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
)

// TestClockIsSetInTheMiddle sets the time of day back by an hour at each second
// reading.
func TestClockIsSetInTheMiddle(t *testing.T) {
	r := newRunner(t)
	r.Store = store.New(filepath.Join(t.TempDir(), "results.jsonl"))
	readings := 0
	r.WallClock = func(now time.Time) time.Time {
		if readings++; readings == 2 {
			return now.Add(-time.Hour)
		}
		return now
	}
	study := bench.Study{Workload: "nqueens", Args: []string{"-n", "6"}, Placements: []bench.Placement{bench.Normal}, Runs: 2}
	res, err := r.Run(t.Context(), study, nil)
	require.NoError(t, err)
	require.Len(t, res.Runs, 2)
	assert.Equal(t, -time.Hour, res.Runs[0].ClockStep)
	assert.Zero(t, res.Runs[1].ClockStep)
	assert.True(t, res.Runs[0].Valid(), "lengths of time are not taken from that clock")
	assert.Contains(t, strings.Join(bench.Judge(res).Warnings, "\n"), "the clock was set by -1h0m")
	h, err := r.Store.Read()
	require.NoError(t, err)
	assert.Equal(t, res.Runs[0].ClockStep, h.Studies[0].Runs[0].ClockStep)
}
