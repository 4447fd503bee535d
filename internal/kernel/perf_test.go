package kernel

import (
	"errors"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissCounter(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := OpenMissCounter()
	if err != nil {
		var errno syscall.Errno
		require.True(t, errors.As(err, &errno))
		assert.Contains(t, []syscall.Errno{syscall.ENOENT, syscall.ENODEV, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EACCES, syscall.EPERM}, errno)
		t.Skip("no PMU here: ", err)
	}
	defer func() { assert.NoError(t, CloseFile(fd)) }()
	before, err := ReadCounter(fd)
	require.NoError(t, err)
	memory := make([]byte, 64<<20) // more than most caches
	for i := 0; i < len(memory); i += 64 {
		memory[i]++
	}
	after, err := ReadCounter(fd)
	require.NoError(t, err)
	assert.Greater(t, after, before)
}

// TestSwitchesAreCountedOrRefused: who may not look into the kernel gets no counter that
// stays 0.
func TestSwitchesAreCountedOrRefused(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := OpenTaskCounter(TaskSwitches, TID(syscall.Gettid()), -1)
	if err != nil {
		require.ErrorIs(t, err, syscall.EACCES)
		return
	}
	defer func() { assert.NoError(t, CloseFile(fd)) }()
	require.NoError(t, syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil))
	switches, _, _, err := ReadTaskCounter(fd)
	require.NoError(t, err)
	assert.Positive(t, switches)
}
