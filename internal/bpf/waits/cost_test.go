package waits

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/bpf/bpftest"
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
			bpftest.Switches(b)
			for _, program := range []string{"waits_switch", "waits_move"} {
				stats, err := w.Objects.Programs[program].Stats()
				require.NoError(b, err)
				b.ReportMetric(float64(stats.Runtime.Nanoseconds())/float64(max(stats.RunCount, 1)), program+"-ns")
			}
		})
	}
}
