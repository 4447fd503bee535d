package bpftest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// PingPong starts two processes that hand a byte to and fro through pipes, and
// ends them with the test.
func PingPong(tb testing.TB) (a, b kernel.TID) {
	tb.Helper()
	var read, write [2]*os.File
	for i := range read {
		var err error
		read[i], write[i], err = os.Pipe()
		require.NoError(tb, err)
	}
	var pids [2]kernel.TID
	for i := range pids {
		cat := exec.Command("cat")
		cat.Stdin, cat.Stdout = read[i], write[1-i]
		cat.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(tb, cat.Start())
		tb.Cleanup(func() {
			_ = cat.Process.Kill()
			_ = cat.Wait()
		})
		pids[i] = kernel.TID(cat.Process.Pid)
	}
	_, err := write[0].Write([]byte{1})
	require.NoError(tb, err)
	for i := range read {
		require.NoError(tb, read[i].Close())
		require.NoError(tb, write[i].Close())
	}
	return pids[0], pids[1]
}

// Switches hands a byte to another thread and back b.N times, through raw pipes: reads of os.File would wait
// in Go's poller, without a switch.
func Switches(b *testing.B) {
	var to, from [2]int
	require.NoError(b, syscall.Pipe(to[:]))
	require.NoError(b, syscall.Pipe(from[:]))
	go func() {
		var one [1]byte
		for {
			if n, err := syscall.Read(to[0], one[:]); err != nil || n == 0 {
				_ = syscall.Close(to[0])
				_ = syscall.Close(from[1])
				return
			}
			_, _ = syscall.Write(from[1], one[:])
		}
	}()
	b.ResetTimer()
	var one [1]byte
	for range b.N {
		_, _ = syscall.Write(to[1], one[:])
		_, _ = syscall.Read(from[0], one[:])
	}
	b.StopTimer()
	_ = syscall.Close(to[1])
	_ = syscall.Close(from[0])
}
