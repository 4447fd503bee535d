package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/bench/store"
	"piton/internal/cli/app"
	"piton/internal/cli/benchcmd"
	"piton/internal/lab/study"
	"piton/internal/paper"
)

// TestWhatAnotherPitonRunsIsLeftAlone: two that go on with one grid would measure
// every cell twice, each beside the other's load.
func TestWhatAnotherPitonRunsIsLeftAlone(t *testing.T) {
	found, err := paper.Lookup([]string{"ctxswitch"})
	require.NoError(t, err)
	chosen := study.Lookup(found)
	path := filepath.Join(t.TempDir(), "results.jsonl")
	newPapers := func() *papers {
		kept := store.New(path)
		runner := &runner.Runner{Store: kept, Conditions: func() bench.Conditions { return bench.ReadConditions("/", app.Version()) }}
		return &papers{chosen: chosen, store: kept, options: study.Options{Runner: runner}}
	}
	running, second := newPapers(), newPapers()
	g := bench.NewGrid([]string{"ctxswitch"}, 0)
	require.True(t, running.hold(g))
	require.NoError(t, running.store.Grid(g))
	_, err = running.options.Runner.Begin(bench.Study{Workload: "ctxswitch", Placements: []bench.Placement{bench.Normal}, Runs: 1, Grid: g.ID, Cell: "ctxswitch x"})
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that what is begun anew measures nothing
	start := func() (*study.Run, []string, error) {
		var said []string
		run, err := second.start(ctx, false, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		return run, said, err
	}
	_, said, err := start()
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"the reproduction of " + benchcmd.Minute(g.Started) + " is running in another piton"}, said)

	running.unhold()
	run, said, err := start()
	require.NoError(t, err)
	assert.Equal(t, g.ID, run.Grid.ID)
	assert.Equal(t, []string{"resuming the reproduction of " + benchcmd.Minute(g.Started)}, said)
	assert.False(t, running.hold(g), "it is the second one's now")
	second.unhold()
}
