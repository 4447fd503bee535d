package waits

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/kernel"
)

// BenchmarkSwitch is what the programs take for one context switch, of tasks that are watched and
// of others, by the kernel's own clock, of which some 50 ns are its own.
func BenchmarkSwitch(b *testing.B) {
	for name, targets := range map[string]Targets{"watched": {Processes: []kernel.TID{kernel.TID(os.Getpid())}}, "others": {}} {
		b.Run(name, func(b *testing.B) {
			w, err := Open(targets)
			if err != nil {
				b.Skip(err)
			}
			defer w.Close()
			counting, err := bpf.CountRuns()
			require.NoError(b, err)
			defer counting.Close()
			pingPong(b)
			for _, program := range []string{"waits_switch", "waits_move"} {
				stats, err := w.Objects.Programs[program].Stats()
				require.NoError(b, err)
				b.ReportMetric(float64(stats.Runtime.Nanoseconds())/float64(max(stats.RunCount, 1)), program+"-ns")
			}
		})
	}
}

// pingPong hands a byte to another thread and back through raw pipes: reads of os.File would wait
// in Go's poller, without a switch.
func pingPong(b *testing.B) {
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
