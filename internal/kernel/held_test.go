package kernel_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func hold(t *testing.T, pid kernel.TID, startTicks uint64) kernel.Process {
	t.Helper()
	held, err := kernel.SystemWriter().Hold(pid, startTicks)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, held.Close()) })
	return held
}

func TestHoldOutlivesTheNumber(t *testing.T) {
	cmd := exec.Command("sleep", "300")
	require.NoError(t, cmd.Start())
	pid := kernel.TID(cmd.Process.Pid)
	held := hold(t, pid, 0)
	task := held.Thread(pid, 0)
	require.NoError(t, held.Weak())
	require.NoError(t, held.Alive())
	require.NoError(t, task.Still())

	require.NoError(t, held.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // reaps it: "signal: terminated"
	require.ErrorIs(t, held.Alive(), syscall.ESRCH)
	require.ErrorIs(t, held.Signal(syscall.SIGTERM), syscall.ESRCH)
	require.ErrorIs(t, task.SetNice(5), syscall.ESRCH)
	_, err := kernel.SystemWriter().Hold(pid, 0)
	require.ErrorIs(t, err, syscall.ESRCH)
}

// A thread's number is no process's, and so nothing that can be held.
func TestHoldIsOfProcesses(t *testing.T) {
	_, tid := startChild(t)
	_, err := kernel.SystemWriter().Hold(tid, 0)
	assert.ErrorIs(t, err, syscall.ESRCH)
}

func TestTasksAreToldByTheirStart(t *testing.T) {
	pid, tid := startChild(t)
	ticks, state, err := kernel.StartTicks(pid, tid)
	require.NoError(t, err)
	assert.NotZero(t, ticks)
	assert.Contains(t, "RSDI", string(state))
	_, _, err = kernel.StartTicks(pid, kernel.TID(os.Getpid()))
	require.ErrorIs(t, err, syscall.ESRCH, "a thread, and another process's")

	_, err = kernel.SystemWriter().Hold(pid, ticks+1000)
	require.ErrorIs(t, err, syscall.ESRCH)
	leader, _, err := kernel.StartTicks(pid, pid)
	require.NoError(t, err)
	held := hold(t, pid, leader)
	prio := func(level int8) kernel.IOPrio { return kernel.IOPrio{Class: kernel.IOBestEffort, Level: level} }
	require.NoError(t, held.Thread(tid, ticks).SetIOPrio(prio(3)))
	require.ErrorIs(t, held.Thread(tid, ticks+1000).SetIOPrio(prio(4)), syscall.ESRCH)
	require.ErrorIs(t, held.Thread(kernel.TID(os.Getpid()), 0).SetIOPrio(prio(5)), syscall.ESRCH, "a thread, and another process's")
	now, err := kernel.System().IOPrio(tid)
	require.NoError(t, err)
	assert.Equal(t, prio(3), now)
}

// What changes bare numbers is for the calling process's threads alone.
func TestOwnIsForOwnThreads(t *testing.T) {
	pid, tid := startChild(t)
	sys := kernel.System()
	mine, err := sys.Affinity(0)
	require.NoError(t, err)
	for _, other := range []kernel.TID{pid, tid, 1} {
		require.ErrorIs(t, sys.SetAffinity(other, cpuset.Of(0)), syscall.ESRCH)
		require.ErrorIs(t, sys.SetAttr(other, kernel.SchedAttr{}), syscall.ESRCH)
		require.ErrorIs(t, sys.SetPolicy(other, kernel.Batch, 0, false), syscall.ESRCH)
		require.ErrorIs(t, sys.SetSlice(other, 0), syscall.ESRCH)
	}
	require.NoError(t, kernel.OnThread(func() error {
		require.NoError(t, sys.SetAffinity(0, mine))
		return sys.SetAffinity(kernel.TID(gettid()), mine)
	}))
}

func TestWriteFileOfAProcess(t *testing.T) {
	pid, _ := startChild(t)
	task := kerneltest.Of(t, pid, pid)
	require.NoError(t, task.WriteFile("oom_score_adj", "321"))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	require.NoError(t, err)
	assert.Equal(t, "321\n", string(text))
	require.ErrorIs(t, task.WriteFile("none", "1"), os.ErrNotExist)
}
