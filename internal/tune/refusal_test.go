package tune

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
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
	}, 5*time.Second, time.Millisecond)
	plan, err := New(Options{}).Plan(context.Background(), pin(ScopeProcess, cpuset.Of(0), pid))
	require.NoError(t, err)
	assert.Equal(t, Refused, plan.Changes[0].Status)
	assert.Contains(t, plan.Changes[0].Reason, "zombie")
}

// A task in uninterruptible sleep is set at once: nothing waits for it to wake.
func TestRealBlockedTask(t *testing.T) {
	pid, _ := start(t, "blocked")
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	blocked, seen := kernel.TID(0), map[kernel.TID]int{}
	require.Eventually(t, func() bool {
		for _, tid := range realThreads(t, pid) {
			if st, err := proc.ThreadStat(pid, tid); err == nil && st.State == 'D' {
				seen[tid]++ // others sleep so for moments: on a page, or the lock of the memory map
			} else {
				seen[tid] = 0
			}
			if seen[tid] == 20 {
				blocked = tid
			}
		}
		return blocked != 0
	}, 5*time.Second, time.Millisecond)
	result := apply(t, New(Options{}), pin(ScopeProcess, cpuset.Of(mine.Last()), pid))
	assert.Zero(t, result.Count(Failed)+result.Count(Refused), "%v", result.Changes)
	assert.Equal(t, cpuset.Of(mine.Last()).String(), affinityOf(t, blocked))
	st, err := proc.ThreadStat(pid, blocked)
	require.NoError(t, err)
	assert.Equal(t, byte('D'), st.State, "it sleeps on")
}

// CPUs that the machine has not, or not all of.
func TestRealAbsentCPU(t *testing.T) {
	pid, _ := start(t, "idle")
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	tuner := New(Options{})
	online, err := tuner.online()
	require.NoError(t, err)
	const absent = 5000
	c := apply(t, tuner, pin(ScopeThread, cpuset.Of(absent), pid)).Changes[0]
	want := fmt.Sprintf("CPU %d is not online here (online: %s)", absent, online)
	assert.Equal(t, []any{Refused, want}, []any{c.Status, c.Reason})
	c.Status = Planned
	err = kernel.System().SetAffinity(pid, cpuset.Of(absent)) // what the kernel says, had it been tried
	require.ErrorIs(t, err, syscall.EINVAL)
	assert.Equal(t, want, tuner.explain(c, err))

	if mine.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	c = apply(t, tuner, pin(ScopeThread, cpuset.Of(mine.First(), absent), pid)).Changes[0]
	assert.Equal(t, []any{Done, mine.And(cpuset.Of(mine.First())).String()}, []any{c.Status, c.After})
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
		plan, err := New(Options{}).Plan(context.Background(), moveIRQ(irq.AffinityFile(line.Number), line.Title(), cpu.String()))
		require.NoError(t, err)
		assert.Equal(t, Refused, plan.Changes[0].Status)
		assert.ErrorIs(t, plan.Changes[0].Err, ErrNotSupported)
		assert.Equal(t, irq.Managed.Why(), plan.Changes[0].Reason)
		return
	}
	t.Skip("no interrupt line here is known to be managed by its driver")
}

func TestRealKernelThread(t *testing.T) {
	pids, err := proc.Processes()
	require.NoError(t, err)
	for _, pid := range pids {
		st, err := proc.Stat(pid)
		if err != nil || st.Flags&flagNoSetAffinity == 0 {
			continue
		}
		comm := string(st.Comm)
		other := cpuset.Of(1)
		if set, err := kernel.System().Affinity(pid); err == nil && set.Equal(other) {
			other = cpuset.Of(0)
		}
		plan, err := New(Options{}).Plan(context.Background(), pin(ScopeProcess, other, pid))
		require.NoError(t, err)
		if plan.Changes[0].Status == Unchanged {
			continue
		}
		assert.Equal(t, Refused, plan.Changes[0].Status)
		assert.Equal(t, printable(comm)+" is a kernel thread that belongs to its CPU; the kernel does not let it move", plan.Changes[0].Reason)
		return
	}
	t.Skip("no unmovable kernel thread is visible here")
}
