package rescue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

// host is a made-up /proc and /sys.
type host struct {
	*testing.T
	root string
}

func (h host) write(path, text string) {
	require.NoError(h, kernelfake.WriteFiles(h.root, map[string]string{path: text}))
}

// task makes a thread; runNs "" stands for a kernel without schedstat.
func (h host) task(pid, tid int, comm string, state byte, flags uint32, policy kernel.Policy, rtprio, ticks int, runNs string) {
	fields := make([]string, 50)
	for i := range fields {
		fields[i] = "0"
	}
	// From field 3 on, proc_pid_stat(5).
	fields[0], fields[9-3], fields[14-3], fields[22-3] = string(state), fmt.Sprint(flags), fmt.Sprint(ticks), "777"
	fields[39-3], fields[40-3], fields[41-3] = "1", fmt.Sprint(rtprio), fmt.Sprint(int(policy))
	dir := fmt.Sprintf("proc/%d/task/%d/", pid, tid)
	h.write(dir+"stat", fmt.Sprintf("%d (%s) %s\n", tid, comm, strings.Join(fields, " ")))
	if runNs != "" {
		h.write(dir+"schedstat", runNs+" 0 1\n")
	}
}

func TestMeasure(t *testing.T) {
	h := host{t, t.TempDir()}
	h.task(10, 10, "ordinary", 'R', 0, kernel.Other, 0, 0, "1000")
	h.task(20, 20, "migration/0", 'S', procfs.FlagKernelThread, kernel.FIFO, 99, 0, "1000")
	h.task(30, 30, "spin", 'R', 0, kernel.FIFO, 50, 0, "1000")
	h.task(30, 31, "waits", 'R', 0, kernel.RR, 10, 0, "1000")
	h.task(40, 40, "coarse", 'S', 0, kernel.Deadline, 0, 5, "")
	h.task(50, 50, "ends", 'R', 0, kernel.FIFO, 50, 0, "1000")
	h.task(60, 60, "demoted", 'R', 0, kernel.FIFO, 50, 0, "1000")
	synctest.Test(t, func(t *testing.T) {
		go func() {
			time.Sleep(500 * time.Millisecond)
			h.task(30, 30, "spin", 'R', 0, kernel.FIFO, 50, 0, "900001000")
			h.task(40, 40, "coarse", 'S', 0, kernel.Deadline, 0, 25, "")
			h.task(60, 60, "demoted", 'R', 0, kernel.Other, 0, 0, "900001000")
			assert.NoError(t, os.RemoveAll(filepath.Join(h.root, "proc/50")))
		}()
		tasks, err := Measure(t.Context(), procfs.New(h.root), time.Second, time.Sleep)
		require.NoError(t, err)
		require.Len(t, tasks, 4)
		assert.Equal(t, Task{PID: 30, TID: 30, StartTicks: 777, Comm: "spin", Policy: kernel.FIFO, RTPrio: 50, Share: 0.9, Waiting: true, LastCPU: 1}, tasks[0])
		assert.Equal(t, "coarse", tasks[1].Comm)
		assert.InDelta(t, 0.2, tasks[1].Share, 1e-9)
		assert.Equal(t, "waits", tasks[2].Comm)
		assert.True(t, tasks[2].Eating(), "it is next")
		assert.True(t, tasks[3].Kernel)
		assert.False(t, tasks[3].Eating())
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Measure(ctx, procfs.New(h.root), time.Hour, time.Sleep)
	assert.ErrorIs(t, err, context.Canceled)
}
