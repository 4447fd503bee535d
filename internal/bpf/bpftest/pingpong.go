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
