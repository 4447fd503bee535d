package kernel_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func gettid() int { return syscall.Gettid() }

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it raises priorities")
	}
}

func TestAffinityRoundTrip(t *testing.T) {
	_, tid := startChild(t)
	sys := kernel.System()
	all, err := sys.Affinity(tid)
	require.NoError(t, err)
	require.False(t, all.Empty())

	one := cpuset.Of(all.Last())
	require.NoError(t, sys.SetAffinity(tid, one))
	got, err := sys.Affinity(tid)
	require.NoError(t, err)
	assert.Equal(t, one.String(), got.String())

	// CPUs that do not exist are ignored as long as one that does is left.
	require.NoError(t, sys.SetAffinity(tid, all.Or(cpuset.Of(cpuset.MaxCPU))))
	got, err = sys.Affinity(tid)
	require.NoError(t, err)
	assert.Equal(t, all.String(), got.String())
	require.ErrorIs(t, sys.SetAffinity(tid, cpuset.Of(cpuset.MaxCPU)), syscall.EINVAL)
	require.ErrorIs(t, sys.SetAffinity(tid, cpuset.Set{}), syscall.EINVAL)
}

func TestPolicyKeepsNice(t *testing.T) {
	needRoot(t)
	pid, _ := startChild(t)
	sys := kernel.System()
	require.NoError(t, sys.SetNice(pid, -5))
	require.NoError(t, sys.SetPolicy(pid, kernel.RR, 7, true))
	attr, err := sys.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.RR, attr.Policy)
	assert.Equal(t, 7, attr.RTPrio)
	assert.True(t, attr.ResetOnFork)

	require.NoError(t, sys.SetPolicy(pid, kernel.Other, 0, false))
	nice, err := sys.Nice(pid)
	require.NoError(t, err)
	assert.Equal(t, -5, nice)
	attr, err = sys.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Other, attr.Policy)
	assert.False(t, attr.ResetOnFork)
}

func TestSetAttr(t *testing.T) {
	needRoot(t)
	pid, _ := startChild(t)
	sys := kernel.System()
	require.NoError(t, sys.SetAttr(pid, kernel.SchedAttr{Policy: kernel.Batch, Nice: 3}))
	attr, err := sys.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Batch, attr.Policy)
	assert.Equal(t, 3, attr.Nice)

	deadline := kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1e6, DeadlineNs: 20e6, PeriodNs: 20e6, Reclaim: true}
	if err := sys.SetAttr(pid, deadline); err != nil {
		t.Skipf("DEADLINE is not to be had here: %v", err)
	}
	attr, err = sys.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, deadline, attr)
}

func TestIOPrio(t *testing.T) {
	pid, tid := startChild(t)
	sys := kernel.System()
	for _, want := range []kernel.IOPrio{
		{Class: kernel.IOBestEffort, Level: 6},
		{Class: kernel.IOIdle},
		{Class: kernel.IONone},
	} {
		for _, task := range []kernel.TID{pid, tid} {
			require.NoError(t, sys.SetIOPrio(task, want))
			got, err := sys.IOPrio(task)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	}
}

func TestHoldOutlivesTheNumber(t *testing.T) {
	cmd := exec.Command("sleep", "20")
	require.NoError(t, cmd.Start())
	pid := kernel.TID(cmd.Process.Pid)
	held, err := kernel.System().Hold(pid)
	require.NoError(t, err)
	defer func() { assert.NoError(t, held.Close()) }()
	require.NoError(t, held.Alive())

	require.NoError(t, held.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // reaps it: "signal: terminated"
	require.ErrorIs(t, held.Alive(), syscall.ESRCH)
	require.ErrorIs(t, held.Signal(syscall.SIGTERM), syscall.ESRCH)
	_, err = kernel.System().Hold(pid)
	require.ErrorIs(t, err, syscall.ESRCH)
}

func TestHoldThread(t *testing.T) {
	_, tid := startChild(t)
	held, err := kernel.System().Hold(tid)
	if err != nil {
		require.ErrorIs(t, err, syscall.EINVAL, "only leaders before Linux 6.9")
		t.Skip("this kernel holds thread-group leaders only")
	}
	assert.NoError(t, held.Alive())
	assert.NoError(t, held.Close())
}

func TestGoneIsESRCH(t *testing.T) {
	const nobody = kernel.TID(1<<22 + 1) // above the largest pid_max
	sys := kernel.System()
	_, err := sys.Affinity(nobody)
	require.ErrorIs(t, err, syscall.ESRCH)
	_, err = sys.Attr(nobody)
	require.ErrorIs(t, err, syscall.ESRCH)
	_, err = sys.Nice(nobody)
	require.ErrorIs(t, err, syscall.ESRCH)
	_, err = sys.IOPrio(nobody)
	require.ErrorIs(t, err, syscall.ESRCH)
	require.ErrorIs(t, sys.SetAffinity(nobody, cpuset.Of(0)), syscall.ESRCH)
	require.ErrorIs(t, sys.SetNice(nobody, 1), syscall.ESRCH)
	require.ErrorIs(t, sys.SetPolicy(nobody, kernel.Batch, 0, false), syscall.ESRCH)
	require.ErrorIs(t, sys.SetAttr(nobody, kernel.SchedAttr{}), syscall.ESRCH)
	require.ErrorIs(t, sys.SetIOPrio(nobody, kernel.IOPrio{Class: kernel.IOBestEffort}), syscall.ESRCH)
}

func TestCredentials(t *testing.T) {
	caps, err := kernel.UsableCapabilities()
	require.NoError(t, err)
	status, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	assert.Contains(t, string(status), fmt.Sprintf("CapEff:\t%016x\n", uint64(caps)))
	_, err = kernel.ReadLimits(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	release, err := kernel.Release()
	require.NoError(t, err)
	onDisk, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	assert.Equal(t, strings.TrimSpace(string(onDisk)), release)
}

func TestHasThread(t *testing.T) {
	held, err := kernel.System().Hold(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, kernel.OnThread(func() error {
		return held.HasThread(kernel.TID(gettid()))
	}))
	assert.ErrorIs(t, held.HasThread(1), syscall.ESRCH, "it is a task, and another process's")
	assert.ErrorIs(t, held.HasThread(kernel.TID(os.Getppid())), syscall.ESRCH)
}
