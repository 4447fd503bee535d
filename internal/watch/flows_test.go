package watch

import (
	"bufio"
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

func TestMain(m *testing.M) { bpftest.Main(m, bpftest.PlayFlows) }

// startFlows starts a child that sends to itself at each SIGUSR1.
func startFlows(t *testing.T, words ...string) (pid kernel.TID, out *bufio.Reader, end func()) {
	t.Helper()
	c := bpftest.Start(t, bpftest.Command(words...))
	return c.PID, c.Out, c.End
}

func openFollow(t *testing.T, targets Targets) *Follow {
	t.Helper()
	f, err := OpenFollow(procfs.New("/"), targets)
	if errors.Is(err, feature.ErrNotSupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

func TestFollowIsOfItsProcesses(t *testing.T) {
	pid, out, end := startFlows(t, "tcp", "200", "0", "0")
	f := openFollow(t, Targets{IDs: []kernel.TID{pid}})
	require.NoError(t, syscall.Kill(int(pid), syscall.SIGUSR1))
	line, err := out.ReadBytes('\n')
	require.NoError(t, err)
	var seen bpftest.FlowSeen
	require.NoError(t, json.Unmarshal(line, &seen), "%s", line)
	now, err := f.Read()
	require.NoError(t, err)
	bytes := uint64(0)
	for _, one := range now.List {
		bytes += one.Bytes
		assert.Equal(t, pid, one.PID)
	}
	assert.Equal(t, seen.Bytes(), bytes)
	assert.True(t, f.left())

	f.started[pid]++ // as if another process had the number now
	assert.False(t, f.left())
	require.NoError(t, syscall.Kill(int(pid), syscall.SIGUSR1))
	_, err = out.ReadBytes('\n')
	require.NoError(t, err)
	now, err = f.Read()
	require.NoError(t, err)
	assert.Empty(t, now.List)
	assert.Empty(t, f.PIDs(), "and it is followed no more")

	f = openFollow(t, Targets{IDs: []kernel.TID{pid}})
	end()
	intervals := 0
	require.NoError(t, f.Run(t.Context(), time.Hour, 0, func(Flows) error { intervals++; return nil }))
	assert.Equal(t, 1, intervals, "it ends with the process")
	_, err = OpenFollow(procfs.New("/"), Targets{IDs: []kernel.TID{pid}})
	assert.ErrorIs(t, err, procfs.ErrGone)
}
