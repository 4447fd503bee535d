package watch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// openWakes opens, or skips with the reason.
func openWakes(t *testing.T, targets Targets) *Wakes {
	t.Helper()
	w, err := OpenWakes(procfs.New("/"), targets)
	if errors.Is(err, feature.ErrNotSupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

func TestPartners(t *testing.T) {
	openWakes(t, Targets{}).Close()
	a, b := bpftest.PingPong(t)
	partners, err := Partners(t.Context(), []kernel.TID{a}, time.Second)
	require.NoError(t, err)
	require.NotEmpty(t, partners)
	first := partners[0]
	assert.Equal(t, b, first.TID)
	assert.Equal(t, b, first.TGID)
	assert.Equal(t, "cat", first.Comm)
	assert.GreaterOrEqual(t, int(first.CPU), 0)
	assert.InEpsilon(t, first.PerS, first.WokenPerS+first.WakesPerS, 1e-9)
	assert.Positive(t, first.WokenPerS) // how often depends on who sleeps when
	assert.Positive(t, first.WakesPerS)
	for _, p := range partners {
		assert.NotZero(t, p.TID, "no interrupts")
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Partners(ctx, []kernel.TID{a}, time.Hour)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestWakesOfTargets(t *testing.T) {
	a, b := bpftest.PingPong(t)
	c, _ := bpftest.PingPong(t)
	self := kernel.TID(os.Getpid())
	for name, tt := range map[string]struct {
		targets Targets
		with    bool // the second pair is there, as the first one is
	}{
		"all":     {Targets{}, true},
		"process": {Targets{IDs: []kernel.TID{a}}, false},
		"thread":  {Targets{IDs: []kernel.TID{b}, Scope: Thread}, false},
		"tree":    {Targets{IDs: []kernel.TID{self}, Scope: Tree}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWakes(t, tt.targets)
			var list []sample.Wake
			has := func(pid kernel.TID) bool { return len(model.Partners([]kernel.TID{pid}, list, time.Second)) > 0 }
			enough := errors.New("enough")
			err := w.Run(t.Context(), 50*time.Millisecond, time.Minute, func(u Wakeups) error {
				list = append(list, u.List...)
				assert.Positive(t, u.Over)
				assert.Zero(t, u.Lost)
				if has(a) && has(c) == tt.with {
					return enough
				}
				return nil
			})
			require.ErrorIs(t, err, enough)
			assert.Equal(t, tt.with, has(c))
		})
	}
}

// TestWakesOfTargetsThatEnd ends with its last target, and keeps what was counted.
func TestWakesOfTargetsThatEnd(t *testing.T) {
	short := exec.Command("sh", "-c", "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done; read x")
	in, err := short.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, short.Start())
	pid := kernel.TID(short.Process.Pid)
	w := openWakes(t, Targets{IDs: []kernel.TID{pid}})
	require.NoError(t, in.Close())
	require.NoError(t, ignoreExit(short.Wait()))
	var list []sample.Wake
	require.NoError(t, w.Run(t.Context(), time.Hour, 0, func(u Wakeups) error {
		list = append(list, u.List...)
		return nil
	}))
	assert.NotEmpty(t, list)
	w.Close()
	_, err = w.Read()
	assert.Error(t, err)
}

// ignoreExit leaves out how a child ended.
func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}
