package main_test

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// onTerminal starts the screen at 120×40; what it writes arrives in pieces of at most
// so many bytes, as fast as they are read.
func onTerminal(b *testing.B, most int) (terminal *os.File, pieces <-chan []byte) {
	cmd := pitonAt(b.TempDir())
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	require.NoError(b, err)
	out := make(chan []byte)
	done := make(chan struct{})
	go func() {
		defer close(out)
		for {
			buf := make([]byte, most)
			n, err := terminal.Read(buf)
			if err != nil {
				return
			}
			select {
			case out <- buf[:n]:
			case <-done:
				_, _ = io.Copy(io.Discard, terminal)
			}
		}
	}()
	b.Cleanup(func() {
		close(done)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = terminal.Close()
	})
	return terminal, out
}

// settle reads until nothing comes for a while, for at most a time.
func settle(out <-chan []byte, quiet, most time.Duration) {
	for end := time.After(most); ; {
		select {
		case <-out:
		case <-time.After(quiet):
			return
		case <-end:
			return
		}
	}
}

// spin keeps so many CPUs busy for a minute at most.
func spin(b *testing.B, n int) {
	for range n {
		cmd := exec.Command("timeout", "60", "sh", "-c", "while :; do :; done")
		require.NoError(b, cmd.Start())
		b.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	}
}

// BenchmarkKeyToScreen is the time from a key to the first byte of its answer, on two
// CPUs that are kept busy, over 3,000 processes: -benchtime 1000x.
func BenchmarkKeyToScreen(b *testing.B) {
	idle(b, 3000)
	terminal, out := onTerminal(b, 1<<16)
	settle(out, 3*time.Second, 3*time.Second)
	spin(b, 2)
	var took []time.Duration
	late := 0
	for i := range b.N {
		settle(out, 20*time.Millisecond, 40*time.Millisecond)
		began := time.Now()
		_, err := terminal.WriteString([]string{"\x1b[B", "\x1b[A"}[i%2])
		require.NoError(b, err)
		<-out
		if took = append(took, time.Since(began)); took[i] > 100*time.Millisecond {
			late++
		}
	}
	sorted := slices.Sorted(slices.Values(took))
	b.ReportMetric(milliseconds(median(took)), "median-ms")
	b.ReportMetric(milliseconds(sorted[len(sorted)*95/100]), "p95-ms")
	b.ReportMetric(milliseconds(sorted[len(sorted)-1]), "max-ms")
	b.ReportMetric(float64(late), "over-100-ms")
	b.ReportMetric(0, "ns/op")
}
