package kernel

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBlockingPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	other, err := Duplicate(int(r.Fd()))
	require.NoError(t, err)
	require.NotEqual(t, int(r.Fd()), other)
	require.NoError(t, SetBlocking(other))
	require.NoError(t, CloseFile(other))
	_, err = Duplicate(-1)
	assert.ErrorIs(t, err, syscall.EBADF)
	out, in := []byte("turn"), make([]byte, 8)
	n, errno := BlockingWrite(int(w.Fd()), unsafe.Pointer(&out[0]), len(out))
	assert.Equal(t, 4, n)
	assert.Zero(t, errno)
	n, errno = BlockingRead(int(r.Fd()), unsafe.Pointer(&in[0]), len(in))
	assert.Zero(t, errno)
	assert.Equal(t, "turn", string(in[:n]))
	require.NoError(t, w.Close())
	n, errno = BlockingRead(int(r.Fd()), unsafe.Pointer(&in[0]), len(in))
	assert.Zero(t, n, "the end")
	assert.Zero(t, errno)
	_, errno = BlockingRead(-1, unsafe.Pointer(&in[0]), len(in))
	assert.Equal(t, syscall.EBADF, errno)
	assert.ErrorIs(t, SetBlocking(-1), syscall.EBADF)
}

func TestWaitAndWake(t *testing.T) {
	var word, done atomic.Uint32
	address := (*uint32)(unsafe.Pointer(&word))
	BlockingWait(address, 1) // it has another value, so this does not wait
	go func() {
		runtime.LockOSThread()
		for word.Load() == 0 {
			BlockingWait(address, 0)
		}
		done.Store(1)
	}()
	word.Store(1)
	for done.Load() == 0 {
		Wake(address, 1)
		runtime.Gosched()
	}
}
