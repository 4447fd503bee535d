package kernel_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func gettid() int { return syscall.Gettid() }

func needRoot(t *testing.T) {
	t.Helper()
	kerneltest.NeedRoot(t, "to raise priorities")
}

func TestAffinityRoundTrip(t *testing.T) {
	pid, tid := startChild(t)
	sys, task := kernel.System(), kerneltest.Of(t, pid, tid)
	all, err := sys.Affinity(tid)
	require.NoError(t, err)
	require.False(t, all.Empty())

	one := cpuset.Of(all.Last())
	require.NoError(t, task.SetAffinity(one))
	got, err := sys.Affinity(tid)
	require.NoError(t, err)
	assert.Equal(t, one.String(), got.String())

	// CPUs that do not exist are ignored as long as one that does is left.
	require.NoError(t, task.SetAffinity(all.Or(cpuset.Of(cpuset.MaxCPU))))
	got, err = sys.Affinity(tid)
	require.NoError(t, err)
	assert.Equal(t, all.String(), got.String())
	require.ErrorIs(t, task.SetAffinity(cpuset.Of(cpuset.MaxCPU)), syscall.EINVAL)
	require.ErrorIs(t, task.SetAffinity(cpuset.Set{}), syscall.EINVAL)
}

func TestPolicyKeepsNice(t *testing.T) {
	needRoot(t)
	pid, _ := startChild(t)
	sys, task := kernel.System(), kerneltest.Of(t, pid, pid)
	require.NoError(t, task.SetNice(-5))
	require.NoError(t, task.SetPolicy(kernel.RR, 7, true))
	attr, err := sys.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.RR, attr.Policy)
	assert.Equal(t, 7, attr.RTPrio)
	assert.True(t, attr.ResetOnFork)

	require.NoError(t, task.SetPolicy(kernel.Other, 0, false))
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
	sys, task := kernel.System(), kerneltest.Of(t, pid, pid)
	require.NoError(t, task.SetAttr(kernel.SchedAttr{Policy: kernel.Batch, Nice: 3}))
	attr, err := sys.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Batch, attr.Policy)
	assert.Equal(t, 3, attr.Nice)

	deadline := kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1e6, DeadlineNs: 20e6, PeriodNs: 20e6, Reclaim: true}
	if err := task.SetAttr(deadline); err != nil {
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
		for _, tid := range []kernel.TID{pid, tid} {
			require.NoError(t, kerneltest.Of(t, pid, tid).SetIOPrio(want))
			got, err := sys.IOPrio(tid)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	}
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
	_, err = kernel.SystemWriter().Hold(nobody, 0)
	require.ErrorIs(t, err, syscall.ESRCH)
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
