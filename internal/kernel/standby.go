package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// LockMemory reads everything that the process has mapped into memory, its
// program text included, and keeps that and whatever it will use from being paged
// out (mlockall(2)): no page of it has to come from a disk any more. It needs
// CAP_IPC_LOCK, as the address space that Go reserves is beyond RLIMIT_MEMLOCK.
func LockMemory() error {
	if err := unix.Mlockall(unix.MCL_CURRENT); err != nil {
		return fmt.Errorf("mlockall: %w", err)
	}
	// Pages to come are locked once they are used; without MCL_ONFAULT each piece
	// that the heap grows by would be filled at once.
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("mlockall of pages to come: %w", err)
	}
	return nil
}

// Detach makes cmd's process leader of a session of its own (setsid(2)), without a
// terminal: what hangs up or interrupts the terminal does not reach it.
func Detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
}

// SocketPair returns two connected stream sockets (socketpair(2)): when the
// process at one end dies, the other reads an end of file. The first does not
// block the thread that waits for it, and knows deadlines; neither is inherited
// unless it is given to a child.
func SocketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "socketpair"), os.NewFile(uintptr(fds[1]), "socketpair"), nil
}

// Inherited returns the file that the process was given as descriptor fd, without
// passing it on to its children; nil when there is none.
func Inherited(fd int) *os.File {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return nil
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, flags|unix.FD_CLOEXEC); err != nil {
		return nil
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "inherited")
}

// CloseInherited closes the descriptors above last that the process was given by
// whoever started it: those without FD_CLOEXEC, which Go sets on all of its own.
func CloseInherited(last int) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= last {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}
