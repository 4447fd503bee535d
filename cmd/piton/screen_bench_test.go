package main_test

import (
	"bytes"
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

// BenchmarkThinLine is the time from ? to the title of the help on a line of 9,600
// baud, where the terminal answers and where it does not.
func BenchmarkThinLine(b *testing.B) {
	for name, answers := range map[string]bool{"answers": true, "silent": false} {
		b.Run(name, func(b *testing.B) {
			const bytesPerS = 960
			terminal, out := onTerminal(b, 16)
			var took []time.Duration
			var all []byte
			read := func(until func(got []byte) bool) {
				for from := len(all); !until(all[from:]); {
					piece := <-out
					time.Sleep(time.Second * time.Duration(len(piece)) / bytesPerS)
					asked := bytes.Count(all, []byte("\x1b[c"))
					all = append(all, piece...)
					if answers && bytes.Count(all, []byte("\x1b[c")) > asked {
						_, _ = terminal.WriteString("\x1b[?62c")
					}
				}
			}
			wait := func(d time.Duration) {
				began := time.Now()
				read(func([]byte) bool { return time.Since(began) > d })
			}
			wait(15 * time.Second)
			for range b.N {
				wait(5 * time.Second)
				began := time.Now()
				_, _ = terminal.WriteString("?")
				read(func(got []byte) bool { return bytes.Contains(got, []byte("Help")) })
				took = append(took, time.Since(began))
				wait(2 * time.Second)
				_, _ = terminal.WriteString("\x1b")
				wait(10 * time.Second)
			}
			b.ReportMetric(milliseconds(median(took)), "median-ms")
			b.ReportMetric(milliseconds(slices.Max(took)), "max-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}
