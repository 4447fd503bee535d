package kernel

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions of this file wait inside the kernel with the calling thread,
// unknown to Go's scheduler: what wakes and runs the thread is the kernel alone,
// which is what some workloads measure. The goroutine must be locked to its
// thread, there must be two Ps for each such thread (see Room in
// workloads/internal/peer), and the garbage collector off, since nothing can stop
// a thread that waits so. They do not grow the stack, so that loops made of them
// have no point at which Go would take the thread away.

// BlockingRead reads from a descriptor that is not O_NONBLOCK (read(2)); n is 0
// at the end of the file.
//
//go:nosplit
func BlockingRead(fd int, p unsafe.Pointer, size int) (n int, errno syscall.Errno) {
	r, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(p), uintptr(size))
	return int(r), e
}

// BlockingWrite writes to such a descriptor (write(2)), all or less.
//
//go:nosplit
func BlockingWrite(fd int, p unsafe.Pointer, size int) (n int, errno syscall.Errno) {
	r, _, e := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(p), uintptr(size))
	return int(r), e
}

// The operations of futex(2), on words of this process only.
const (
	futexWait = 0 | 128 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	futexWake = 1 | 128
)

// BlockingWait waits while the word has the value, until it is woken. It may
// also return for no reason: look at the word again.
//
//go:nosplit
func BlockingWait(word *uint32, value uint32) {
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0, 0, 0)
}

// Wake wakes up to n threads that wait on the word.
//
//go:nosplit
func Wake(word *uint32, n int) {
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, uintptr(n), 0, 0, 0)
}

// DeliveryCPUs are the CPU on which a socket's last packet was processed (SO_INCOMING_CPU of
// socket(7)), and the one that the caller is on (getcpu(2)). It does not wait.
//
//go:nosplit
func DeliveryCPUs(fd int) (packet, caller int32, errno syscall.Errno) {
	var node uint32
	size := uint32(unsafe.Sizeof(packet))
	_, _, errno = unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_INCOMING_CPU,
		uintptr(unsafe.Pointer(&packet)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&caller)), uintptr(unsafe.Pointer(&node)), 0)
	}
	return packet, caller, errno
}

// Duplicate returns another descriptor of the same file, close-on-exec (dup(2)).
func Duplicate(fd int) (int, error) {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("duplicate descriptor %d: %w", fd, err)
	}
	return other, nil
}

// SetBlocking makes calls on a descriptor wait (clears O_NONBLOCK), also on all
// descriptors that were duplicated from it or that it was duplicated from.
func SetBlocking(fd int) error {
	if err := unix.SetNonblock(fd, false); err != nil {
		return fmt.Errorf("clear O_NONBLOCK of descriptor %d: %w", fd, err)
	}
	return nil
}
