package kernel_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func TestSlice(t *testing.T) {
	pid, tid := startChild(t)
	sys, task := kernel.System(), kerneltest.Of(t, pid, tid)
	base, err := sys.BaseSlice()
	require.NoError(t, err)
	if base == 0 {
		t.Skip("this kernel has no slices: Linux 6.12 has")
	}
	got, err := sys.Slice(tid)
	require.NoError(t, err)
	assert.Equal(t, base, got, "a task that was given none has the default")
	require.NoError(t, task.SetPolicy(kernel.Batch, 0, true))
	nice, err := sys.Nice(tid)
	require.NoError(t, err)
	nice = max(3, nice) // not lower: not everybody may
	require.NoError(t, task.SetNice(nice))
	require.NoError(t, task.SetSlice(7_000_000))
	attr, err := sys.Attr(tid)
	require.NoError(t, err)
	assert.Equal(t, kernel.SchedAttr{Policy: kernel.Batch, ResetOnFork: true, Nice: nice, RuntimeNs: 7_000_000}, attr,
		"the rest is as it was")
	require.NoError(t, task.SetSlice(1))
	got, err = sys.Slice(tid)
	require.NoError(t, err)
	assert.EqualValues(t, 100_000, got, "kept within bounds")
	require.NoError(t, task.SetSlice(0))
	got, err = sys.Slice(tid)
	require.NoError(t, err)
	assert.Equal(t, base, got)
	require.NoError(t, task.SetPolicy(kernel.Idle, 0, true))
	got, err = sys.Slice(tid)
	require.NoError(t, err)
	assert.Zero(t, got)
}

func TestClamp(t *testing.T) {
	pid, tid := startChild(t)
	sys, task := kernel.System(), kerneltest.Of(t, pid, tid)
	clamp, err := sys.Clamp(tid)
	if err != nil {
		assert.ErrorIs(t, err, syscall.EOPNOTSUPP)
		assert.ErrorIs(t, task.SetClamp(kernel.Clamp{Max: 512}, false), syscall.EOPNOTSUPP)
		t.Skipf("without CONFIG_UCLAMP_TASK: %v", err)
	}
	assert.Equal(t, kernel.Clamp{Min: 0, Max: kernel.ClampMax}, clamp)
	require.NoError(t, task.SetClamp(kernel.Clamp{Min: 0, Max: 300}, false))
	clamp, err = sys.Clamp(tid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Clamp{Min: 0, Max: 300}, clamp)
	require.NoError(t, task.SetClamp(kernel.Clamp{}, true))
	clamp, err = sys.Clamp(tid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Clamp{Min: 0, Max: kernel.ClampMax}, clamp)
}

func TestCookie(t *testing.T) {
	pid, tid := startChild(t)
	_, without := startChild(t)
	sys, task := kernel.System(), kerneltest.Of(t, pid, tid)
	cookie, err := sys.Cookie(tid)
	if err != nil {
		assert.True(t, isOne(err, syscall.EINVAL, syscall.ENODEV), "%v", err)
		_, _, err = sys.NewCookie()
		assert.True(t, isOne(err, syscall.EINVAL, syscall.ENODEV), "%v", err)
		assert.Error(t, task.ShareCookie(tid))
		t.Skip("without CONFIG_SCHED_CORE or SMT: ", err)
	}
	assert.Zero(t, cookie)
	made, holder, err := sys.NewCookie()
	require.NoError(t, err)
	assert.NotZero(t, made)
	require.NoError(t, task.ShareCookie(holder))
	cookie, err = sys.Cookie(tid)
	require.NoError(t, err)
	assert.Equal(t, made, cookie)
	require.NoError(t, task.ShareCookie(without))
	cookie, err = sys.Cookie(tid)
	require.NoError(t, err)
	assert.Zero(t, cookie)
}

func isOne(err error, errnos ...syscall.Errno) bool {
	return slices.ContainsFunc(errnos, func(e syscall.Errno) bool { return errors.Is(err, e) })
}
