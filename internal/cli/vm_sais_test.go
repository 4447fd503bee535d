package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/irq"
)

// TestVMSaisLeavesNothing ends the study while RFS is in force: the flow table of the machine
// is as it was before, and the network is gone.
func TestVMSaisLeavesNothing(t *testing.T) {
	if s := needVM(t); s.cpus > 32 {
		t.Skip("it takes minutes on so many emulated CPUs")
	}
	table := func() string {
		b, err := os.ReadFile(irq.FlowEntriesFile)
		require.NoError(t, err)
		return strings.TrimSpace(string(b))
	}
	before := table()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "interrupted": syscall.SIGINT} {
		h := newHome(t)
		cmd := h.program("bench", "paper", "sais", "--new", "--budget", "5m", "-o", "json")
		var errs strings.Builder
		cmd.Stderr = &errs
		require.NoError(t, cmd.Start())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }()
		// The order of the arms is random, and periods are slow on an emulated machine.
		require.Eventually(t, func() bool {
			select {
			case <-ended:
				return true
			default:
				return table() != before
			}
		}, patience(), 5*time.Millisecond, "RFS in force")
		require.NoError(t, cmd.Process.Signal(signal), "it goes on until RFS is in force: %s", &errs)
		<-ended
		eventually(t, "the table is as it was", func() bool { return table() == before })
		eventually(t, "nothing is in force", func() bool {
			for _, e := range ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry") {
				if strings.HasPrefix(e["state"].(string), "in force") {
					return false
				}
			}
			return true
		})
		assert.NotContains(t, errs.String(), "panic", name)
		eventually(t, "its processes and its guard have ended", func() bool { return h.left() == 0 })
	}
}

// left counts the processes that pitons of this home have left: they write to it.
func (h *home) left() (n int) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(h.t, err)
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), h.env[0]+"\x00") {
			n++
		}
	}
	return n
}
