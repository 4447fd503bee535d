package change_test

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// The tests of this file meet what the kernel refuses, or would, on processes
// that they start themselves; see limits_test.go for rights and cgroups.

func TestRealZombie(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	pid := kernel.TID(cmd.Process.Pid)
	require.Eventually(t, func() bool {
		st, err := proc.Stat(pid)
		return err == nil && st.State == 'Z'
	}, time.Minute, time.Millisecond)
	c := plan(t, change.Local(), pin(change.ScopeProcess, cpuset.Of(0), pid)).Changes[0]
	assert.Equal(t, attr.Refused, c.Status)
	assert.Contains(t, c.Reason, "zombie")
}

// A task in uninterruptible sleep is set at once: nothing waits for it to wake.
func TestRealBlockedTask(t *testing.T) {
	pid, _ := start(t, "blocked")
	last := cpuset.Of(cpusOf(t, pid).Last())
	blocked := kernel.TID(0)
	require.Eventually(t, func() bool {
		for _, tid := range realThreads(t, pid) {
			// Others sleep so for moments: on a page, or the lock of the memory map.
			if st, err := proc.ThreadStat(pid, tid); err == nil && st.State == 'D' && string(st.Comm) == "blocked" {
				blocked = tid
			}
		}
		return blocked != 0
	}, time.Minute, time.Millisecond)
	outcome := apply(t, change.Local(), pin(change.ScopeProcess, last, pid))
	assert.Zero(t, outcome.Count(attr.Failed)+outcome.Count(attr.Refused), "%v", outcome.Changes)
	assert.Equal(t, last, cpusOf(t, blocked))
	st, err := proc.ThreadStat(pid, blocked)
	require.NoError(t, err)
	assert.Equal(t, byte('D'), st.State, "it sleeps on")
}

// CPUs that the machine has not, or not all of.
func TestRealAbsentCPU(t *testing.T) {
	pid, _ := start(t, "idle")
	mine := cpusOf(t, pid)
	tuner := change.Local()
	online, err := tuner.Online()
	require.NoError(t, err)
	const absent = 5000
	c := single(t, tuner, pid, attr.SetAffinity(cpuset.Of(absent)))
	want := fmt.Sprintf("CPU %d is not online here (online: %s)", absent, online)
	assert.Equal(t, []any{attr.Refused, want}, []any{c.Status, c.Reason})
	err = kerneltest.Of(t, pid, pid).SetAffinity(cpuset.Of(absent)) // what the kernel says, had it been tried
	require.ErrorIs(t, err, syscall.EINVAL)
	assert.Equal(t, want, tuner.Explain(c, err))

	if mine.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	c = single(t, tuner, pid, attr.SetAffinity(cpuset.Of(mine.First(), absent)))
	assert.Equal(t, []any{attr.Done, attr.Value(cpuset.Of(mine.First()))}, []any{c.Status, c.After})
	assert.Equal(t, fmt.Sprintf("CPU %d is in force: %s", mine.First(), want), c.Reason)
}

// TestRealManagedLine plans to move a line that its driver keeps, and only plans.
func TestRealManagedLine(t *testing.T) {
	table, err := irq.NewMonitor("/").Table()
	require.NoError(t, err)
	for i := range table.Rows {
		line := &table.Rows[i]
		cpu := cpuset.Of(table.CPUs[0])
		if line.Control != irq.Managed || line.Requested.Equal(cpu) {
			continue
		}
		c := plan(t, change.Local(), moveIRQ(line.Number, cpu)).Changes[0]
		assert.Equal(t, attr.Refused, c.Status)
		assert.ErrorIs(t, c.Err, attr.ErrNotSupported)
		assert.Equal(t, irq.Managed.Why(), c.Reason)
		return
	}
	t.Skip("no interrupt line here is known to be managed by its driver")
}

func TestRealKernelThread(t *testing.T) {
	pids, err := proc.Processes()
	require.NoError(t, err)
	for _, pid := range pids {
		st, err := proc.Stat(pid)
		if err != nil || st.Flags&noSetAffinity == 0 {
			continue
		}
		other := cpuset.Of(1)
		if set, err := kernel.System().Affinity(pid); err == nil && set.Equal(other) {
			other = cpuset.Of(0)
		}
		c := plan(t, change.Local(), pin(change.ScopeProcess, other, pid)).Changes[0]
		if c.Status == attr.Unchanged {
			continue
		}
		assert.Equal(t, attr.Refused, c.Status)
		assert.Contains(t, c.Reason, attr.Printable(string(st.Comm))+" is a kernel thread that ")
		return
	}
	t.Skip("no unmovable kernel thread is visible here")
}
