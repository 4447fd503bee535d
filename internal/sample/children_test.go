package sample

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// startIdle starts n processes that sleep in read(2) on a pipe of which the test
// holds the other end: they end by themselves when the test does, however it ends.
func startIdle(tb testing.TB, n int) kernel.TID {
	tb.Helper()
	r, w, err := os.Pipe()
	require.NoError(tb, err)
	sh := exec.Command("sh", "-c", fmt.Sprintf(
		`i=0; while [ $i -lt %d ]; do (read x <&3) & i=$((i+1)); done; echo; read x <&3`, n))
	sh.ExtraFiles = []*os.File{r}
	ready, err := sh.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, sh.Start())
	require.NoError(tb, r.Close())
	tb.Cleanup(func() {
		_ = w.Close()
		_ = sh.Wait()
		waitGone(kernel.TID(sh.Process.Pid))
	})
	_, err = ready.Read(make([]byte, 1))
	require.NoError(tb, err)
	return kernel.TID(sh.Process.Pid)
}

// waitGone waits until the children, which the end of their parent leaves to
// init, are gone too, so that they are no load on the next test.
func waitGone(parent kernel.TID) {
	for range 100 {
		if _, err := procfs.New("/").Stat(parent); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func liveSampler(tb testing.TB, n Needs) *Sampler {
	tb.Helper()
	if _, err := procfs.New("/").BootID(); err != nil {
		tb.Skip("no /proc here")
	}
	s, err := New(Options{Needs: n})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}
