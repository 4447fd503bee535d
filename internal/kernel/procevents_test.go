package kernel

import (
	"encoding/binary"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProcConnector(t *testing.T) {
	p, err := OpenProcConnector()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EPROTONOSUPPORT) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		t.Skipf("needs CAP_NET_ADMIN and CONFIG_PROC_EVENTS: %v", err)
	}
	require.NoError(t, err)
	defer p.Close()
	before := Monotonic()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	var kinds []EventKind
	end := time.Now().Add(5 * time.Second)
	for len(kinds) == 0 || kinds[len(kinds)-1] != EventExit {
		if time.Now().After(end) && len(kinds) == 0 {
			t.Skip("the connector reports nothing: this is not the initial network or PID namespace")
		}
		events, lost, err := p.Read(nil, 10*time.Millisecond)
		require.NoError(t, err)
		require.Zero(t, lost)
		for _, e := range events {
			if e.PID == TID(cmd.Process.Pid) {
				assert.Greater(t, e.At, before)
				kinds = append(kinds, e.Kind)
			}
		}
	}
	// Linux reports no new name for an exec.
	assert.Equal(t, []EventKind{EventFork, EventExec, EventExit}, kinds)
}

// message is one event as the kernel sends it.
func message(what uint32, data ...uint32) []byte {
	b := make([]byte, 16)
	for _, word := range []uint32{cnIdxProc, cnValProc, 7, 0, 40, what, 1, 1000, 0} {
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	for _, word := range append(data, 0, 0, 0, 0) {
		b = binary.NativeEndian.AppendUint32(b, word)
	}
	return b
}

func TestParseProcEvent(t *testing.T) {
	for _, tt := range []struct {
		message []byte
		want    EventKind // 0: none
		pid     TID
	}{
		{message(procEventFork, 1, 1, 20, 20), EventFork, 20},
		{message(procEventFork, 1, 1, 21, 20), 0, 0}, // a thread
		{message(procEventExec, 20, 20), EventExec, 20},
		{message(procEventExit, 20, 20), EventExit, 20},
		{message(procEventExit, 21, 20), 0, 0},
		{message(procEventComm, 20, 20, 'a', 0, 0, 0), EventComm, 20},
		{message(procEventComm, 20, 20)[:16+20+16+20], 0, 0}, // cut
		{message(0, 20, 20), 0, 0},
		{message(procEventExec, 20, 20)[:30], 0, 0},
		{nil, 0, 0},
	} {
		e, ok := parseProcEvent(tt.message)
		require.Equal(t, tt.want != 0, ok, "% x", tt.message)
		if ok {
			assert.Equal(t, tt.want, e.Kind)
			assert.Equal(t, tt.pid, e.PID)
			assert.Equal(t, 1000*time.Nanosecond, e.At)
		}
	}
}

func FuzzParseProcEvent(f *testing.F) {
	f.Add(message(procEventComm, 20, 20, 'a'))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, ok := parseProcEvent(b); ok && (e.Kind < EventFork || e.Kind > EventExit) {
			t.Errorf("% x: kind %d", b, e.Kind)
		}
	})
}
