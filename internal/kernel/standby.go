package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// LockMemory keeps what the process uses from being paged out, and reads the files
// that it has mapped, its program text above all, into memory: no page of it has
// to come from a disk any more (mlockall(2)). It needs CAP_IPC_LOCK, as the address
// space that Go reserves is beyond RLIMIT_MEMLOCK.
func LockMemory() error {
	// Without MCL_ONFAULT all that is reserved and never used would be filled.
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("mlockall: %w", err)
	}
	return mappedFiles(func(from, size uintptr, access string) error {
		if access[0] != 'r' {
			return nil
		}
		return populate(from, size)
	})
}

// ReleaseCode unmaps the pages of the program's code, most of which only its start
// has needed; the page cache keeps them, and one that is touched again is mapped again without a
// read (MADV_DONTNEED of madvise(2)).
func ReleaseCode() error {
	return mappedFiles(func(from, size uintptr, access string) error {
		if !strings.Contains(access, "x") { // the linker may have written to what is read-only since (RELRO)
			return nil
		}
		// EINVAL: LockMemory keeps it.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED); errno != 0 && errno != unix.EINVAL {
			return fmt.Errorf("madvise of %d bytes at %#x: %w", size, from, errno)
		}
		return nil
	})
}

// mappedFiles calls with each mapping of a file until one fails; access is such as r-xp.
func mappedFiles(with func(from, size uintptr, access string) error) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var access string
		n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &access)
		if n < 3 || !strings.Contains(line, " /") {
			continue
		}
		if err := with(from, to-from, access); err != nil {
			return err
		}
	}
	return nil
}

// populate reads a mapping into memory. Before Linux 5.14 it only asks for that.
func populate(from, size uintptr) error {
	for _, advice := range []uintptr{unix.MADV_POPULATE_READ, unix.MADV_WILLNEED} {
		_, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, advice)
		if errno != unix.EINVAL {
			if errno != 0 {
				return fmt.Errorf("madvise of %d bytes at %#x: %w", size, from, errno)
			}
			return nil
		}
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

// File returns descriptor fd, which the process was given or has duplicated, as a file:
// the runtime waits for it without a thread where the descriptor can be waited for, and it is
// not passed on to children. It is nil when there is no such descriptor.
func File(fd int, name string) *os.File {
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
	return os.NewFile(uintptr(fd), name)
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

// Sleep keeps the calling thread waiting for d (clock_nanosleep(2)). Unlike
// time.Sleep it needs no other thread of the process to wake it.
func Sleep(d time.Duration) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return
	}
	end := unix.NsecToTimespec(now.Nano() + int64(d))
	// Signals of the Go runtime end a sleep early.
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &end, nil) == unix.EINTR {
	}
}
