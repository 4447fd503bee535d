package bpf

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/kernel"
)

func openEvents(tb testing.TB, ringBytes int) *ProcEvents {
	p := bpftest.Must(tb, 5, 8, func() (*ProcEvents, error) { return OpenProcEvents(ringBytes) })
	tb.Cleanup(p.Close)
	return p
}

// TestProcEvents follows a shell that becomes another program, from its fork to its end.
func TestProcEvents(t *testing.T) {
	p := openEvents(t, ProcEventsBytes)
	before := kernel.Monotonic()
	cmd := exec.Command("sh", "-c", "printf %s renamed > /proc/$$/comm; exec true")
	require.NoError(t, cmd.Run())
	pid := kernel.TID(cmd.Process.Pid)
	var seen []kernel.ProcEvent
	require.Eventually(t, func() bool {
		events, lost, err := p.Read(nil, 10*time.Millisecond)
		require.NoError(t, err)
		require.Zero(t, lost)
		for _, e := range events {
			if e.PID == pid {
				seen = append(seen, e)
			}
		}
		return len(seen) > 0 && seen[len(seen)-1].Kind == kernel.EventExit
	}, bpftest.Patience, bpftest.Tick)
	type step struct {
		kind kernel.EventKind
		comm string
	}
	var steps []step
	for _, e := range seen {
		assert.Equal(t, seen[0].StartNs, e.StartNs)
		assert.Greater(t, e.At, before)
		steps = append(steps, step{e.Kind, e.Comm})
	}
	assert.Equal(t, []step{
		{kernel.EventFork, seen[0].Comm},
		{kernel.EventComm, "sh"}, {kernel.EventExec, "sh"},
		{kernel.EventComm, "renamed"},
		{kernel.EventComm, "true"}, {kernel.EventExec, "true"},
		{kernel.EventExit, "true"},
	}, steps)
}

// TestProcEventsSaysWhatIsLost has a ring of a page and more events than it holds.
func TestProcEventsSaysWhatIsLost(t *testing.T) {
	p := openEvents(t, os.Getpagesize())
	for range 40 {
		require.NoError(t, exec.Command("true").Run())
	}
	events, lost, err := p.Read(nil, 0)
	require.NoError(t, err)
	assert.NotEmpty(t, events)
	assert.Positive(t, lost)
	_, lost, err = p.Read(nil, 0)
	require.NoError(t, err)
	assert.Zero(t, lost)
}

// TestProcEventsClose ends a read that waits.
func TestProcEventsClose(t *testing.T) {
	p := openEvents(t, ProcEventsBytes)
	ended := make(chan error)
	go func() {
		for {
			if _, _, err := p.Read(nil, time.Minute); err != nil {
				ended <- err
				return
			}
		}
	}()
	p.Close()
	require.True(t, errors.Is(<-ended, os.ErrClosed))
	p.Close()
}
