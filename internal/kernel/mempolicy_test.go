package kernel_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func TestMemPolicyOfOwnThread(t *testing.T) {
	if _, err := os.Stat("/proc/self/numa_maps"); err != nil {
		t.Skip("without CONFIG_NUMA")
	}
	policy := func() string {
		data, err := os.ReadFile("/proc/thread-self/numa_maps")
		require.NoError(t, err)
		return strings.Fields(string(data))[1]
	}
	require.NoError(t, kernel.OnThread(func() error {
		for _, tt := range []struct {
			mode kernel.MemPolicy
			want string
		}{
			{kernel.MemBind, "bind:0"}, {kernel.MemPreferred, "prefer:0"}, {kernel.MemInterleave, "interleave:0"},
		} {
			if err := kernel.SetMemPolicy(tt.mode, cpuset.Of(0)); err != nil {
				return err
			}
			assert.Equal(t, tt.want, policy())
		}
		assert.ErrorIs(t, kernel.SetMemPolicy(kernel.MemBind, cpuset.Of(900)), syscall.EINVAL)
		err := kernel.SetMemPolicy(kernel.MemDefault, cpuset.Set{})
		assert.Equal(t, "default", policy())
		return err
	}))
}

func TestMovePages(t *testing.T) {
	pid, _ := startChild(t)
	left, err := kerneltest.Of(t, pid, pid).MigratePages(cpuset.Of(0), cpuset.Of(0))
	if err != nil {
		require.ErrorIs(t, err, syscall.ENOSYS)
		t.Skip("without CONFIG_NUMA")
	}
	assert.Zero(t, left)
	here := 1
	self := kernel.TID(os.Getpid())
	own := kerneltest.Of(t, self, self)
	status, err := own.MovePages([]uint64{uint64(uintptr(unsafe.Pointer(&here))), 8}, nil)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, status[0], int32(0), "the node that it is on")
	assert.Negative(t, status[1], "nothing is mapped there")
	status, err = own.MovePages(nil, nil)
	require.NoError(t, err)
	assert.Empty(t, status)
}
