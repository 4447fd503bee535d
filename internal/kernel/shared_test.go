package kernel

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFutexBetweenTwoMappings(t *testing.T) {
	f, err := SharedMemory("piton-test", 4096)
	require.NoError(t, err)
	defer f.Close()
	var words [2]*uint32
	for i := range words {
		m, err := MapShared(f, 4096)
		require.NoError(t, err)
		words[i] = (*uint32)(unsafe.Pointer(&m[0]))
	}
	BlockingWaitShared(words[0], 7) // it is not 7, so nobody sleeps
	WakeShared(words[0], 1)         // nobody waits
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		for atomic.LoadUint32(words[1]) == 0 {
			BlockingWaitShared(words[1], 0)
		}
		close(done)
	}()
	atomic.StoreUint32(words[0], 1)
	WakeShared(words[0], 1)
	<-done
}

func TestSharedMemoryRefused(t *testing.T) {
	_, err := SharedMemory("piton-test", -1)
	require.ErrorIs(t, err, syscall.EINVAL)
	f, err := SharedMemory("piton-test", 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = MapShared(f, 0)
	assert.ErrorIs(t, err, syscall.EINVAL)
}
