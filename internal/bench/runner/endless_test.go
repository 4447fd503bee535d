package runner

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
)

// TestEndlessWork counts the runs of one process, further processes of the workload
// included, until it is ended.
func TestEndlessWork(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := newRunner(t)
	for _, study := range []bench.Study{
		{Workload: "nqueens", Args: []string{"-n", "6"}, Noise: 1},
		{Workload: "ctxswitch", Args: []string{"--rounds", "10"}},
	} {
		e, err := r.StartEndless(t.Context(), study, func(error) {})
		require.NoError(t, err, study.Workload)
		meter := e.Runs()
		for runs := 0.0; runs < 3; runtime.Gosched() {
			grown, err := meter.Grown()
			require.NoError(t, err)
			runs += grown
		}
		assert.Len(t, e.load, study.Noise)
		e.End()
		assert.True(t, gone(e.PID))
		for _, p := range e.load {
			assert.True(t, gone(p.PID))
		}
	}
}

// TestEndlessWorkThatFails says why it stopped.
func TestEndlessWorkThatFails(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancelCause(t.Context())
	e, err := newRunner(t).StartEndless(ctx, bench.Study{Workload: "wrong"}, cancel)
	require.NoError(t, err)
	<-ctx.Done()
	e.End()
	assert.EqualError(t, context.Cause(ctx), "found 41 where there are 42")
	_, err = newRunner(t).StartEndless(t.Context(), bench.Study{Workload: "origami"}, func(error) {})
	assert.ErrorContains(t, err, `unknown workload "origami"`)
}
