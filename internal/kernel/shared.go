package kernel

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
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

// MapMemory maps the first bytes of what a descriptor stands for, for reading and
// writing; the kernel may write there, too.
func MapMemory(fd, bytes int) ([]byte, error) {
	b, err := unix.Mmap(fd, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", bytes, err)
	}
	return b, nil
}

// Unmap ends a mapping: all of what mapping it returned.
func Unmap(b []byte) error { return unix.Munmap(b) }

// The operations of futex(2) on words that processes share; see BlockingWait.
const (
	sharedWait = 0
	sharedWake = 1
)

// BlockingWaitShared is BlockingWait on a word in memory that processes share.
//
//go:nosplit
func BlockingWaitShared(word *uint32, value uint32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), sharedWait, uintptr(value), 0, 0, 0)
}

// WakeShared is Wake on such a word.
//
//go:nosplit
func WakeShared(word *uint32, n int) {
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), sharedWake, uintptr(n), 0, 0, 0)
}

// OwnDescriptors gives the calling thread a table of descriptors of its own, a
// copy of the process's (CLONE_FILES of unshare(2)). The kernel then takes no
// reference to a file for the time of a call, as in a process of one thread
// (__fget_light in fs/file.c). The goroutine must stay locked to its thread.
func OwnDescriptors() error {
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return fmt.Errorf("unshare the descriptors: %w", err)
	}
	return nil
}
