package kernel

import (
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls of Pipe and Futex do not tell the Go runtime that they may block:
// telling it costs a noticeable part of a context switch, which is what they are
// there to cause. A goroutine that makes them keeps its OS thread and its P while
// it waits.

// Pipe is one end of a blocking pipe, by number.
type Pipe int

// Send writes one byte.
func (p Pipe) Send(b byte) error {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p), uintptr(unsafe.Pointer(&b)), 1)
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return fmt.Errorf("write to a pipe: %w", errno)
		}
	}
}

// Receive reads one byte; io.EOF when there is no writer any more.
func (p Pipe) Receive() (byte, error) {
	var b byte
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(p), uintptr(unsafe.Pointer(&b)), 1)
		switch {
		case errno == 0 && n == 0:
			return 0, io.EOF
		case errno == 0:
			return b, nil
		case errno != unix.EINTR:
			return 0, fmt.Errorf("read from a pipe: %w", errno)
		}
	}
}

// FutexWait sleeps until somebody wakes word, unless it is not value any more
// (FUTEX_WAIT of futex(2)). It may return without a reason; the caller looks
// again. word may be in memory that processes share.
func FutexWait(word *uint32, value uint32) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0, 0, 0)
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		return fmt.Errorf("wait for a futex: %w", errno)
	}
	return nil
}

// FutexWake wakes one of those who wait for word, if there is any.
func FutexWake(word *uint32) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("wake a futex: %w", errno)
	}
	return nil
}

// The operations of include/uapi/linux/futex.h, not private to a process.
const (
	futexWait = 0
	futexWake = 1
)

// SharedMemory makes a file of that many bytes in memory, for processes that get
// its descriptor to map (memfd_create(2)).
func SharedMemory(name string, bytes int) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(int64(bytes)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("size the memory %s: %w", name, err)
	}
	return f, nil
}

// MapShared maps a file's first bytes for reading and writing by everybody who
// maps it, until the process ends.
func MapShared(f *os.File, bytes int) ([]byte, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s: %w", f.Name(), err)
	}
	return b, nil
}
