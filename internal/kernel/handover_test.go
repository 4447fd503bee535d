package kernel

import (
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPipePassesBytes(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	in, out := Pipe(r.Fd()), Pipe(w.Fd()) // Fd makes them blocking
	for i := range 300 {
		require.NoError(t, out.Send(byte(i)))
		b, err := in.Receive()
		require.NoError(t, err)
		assert.Equal(t, byte(i), b)
	}
	require.NoError(t, w.Close())
	_, err = in.Receive()
	assert.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
	assert.ErrorIs(t, Pipe(-1).Send(1), syscall.EBADF)
	_, err = Pipe(-1).Receive()
	assert.ErrorIs(t, err, syscall.EBADF)
}

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
	require.NoError(t, FutexWait(words[0], 7), "it is not 7, so nobody sleeps")
	require.NoError(t, FutexWake(words[0]), "nobody waits")
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		for atomic.LoadUint32(words[1]) == 0 {
			if err := FutexWait(words[1], 0); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	atomic.StoreUint32(words[0], 1)
	require.NoError(t, FutexWake(words[0]))
	require.NoError(t, <-done)
	assert.Error(t, FutexWait((*uint32)(unsafe.Add(unsafe.Pointer(words[0]), 1)), 0), "not aligned")
}

func TestSharedMemoryThatIsTooLarge(t *testing.T) {
	_, err := SharedMemory("piton-test", -1)
	assert.ErrorIs(t, err, syscall.EINVAL)
}
