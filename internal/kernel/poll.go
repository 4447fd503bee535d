package kernel

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitNotice waits until the kernel says that a file which tells of changes, such
// as cgroup.events, has changed since it was last read (POLLPRI of poll(2)).
func AwaitNotice(f *os.File) error {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("poll %s: %w", f.Name(), err)
		}
		return nil
	}
}

// AwaitData waits, with the calling thread alone, until a descriptor has something
// to read or its other end is closed, for at most the given time (poll(2)).
func AwaitData(fd int, most time.Duration) (ready bool, err error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(most.Milliseconds()))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}

// Await is AwaitData that a byte in the pipe wake ends too, and without an end where most
// is negative. Of a descriptor that is lent to somebody else it tells the end alone.
func Await(fd, wake int, lent bool, most time.Duration) (ready, ended, woken bool, err error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
	if lent {
		fds[0].Events = 0 // POLLHUP and POLLERR come unasked
	}
	ms := -1
	if most >= 0 {
		ms = int((most + time.Millisecond - 1).Milliseconds())
	}
	if _, err := unix.Poll(fds, ms); err != nil && !errors.Is(err, unix.EINTR) {
		return false, false, false, fmt.Errorf("poll: %w", err)
	}
	is := fds[0].Revents
	return is&unix.POLLIN != 0, is&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0, fds[1].Revents != 0, nil
}

// InForeground reports whether the calling process may set and read a terminal without
// being stopped: its group has the terminal, or it is not its controlling one (tcgetpgrp(3)).
func InForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// ReadSocket and WriteSocket move bytes with the calling thread alone and never wait:
// EAGAIN means that there is nothing to read, or no room (recv(2), send(2)).
func ReadSocket(fd int, p []byte) (int, error) {
	n, _, err := unix.Recvfrom(fd, p, unix.MSG_DONTWAIT)
	return n, err
}

// WriteSocket is ReadSocket's counterpart.
func WriteSocket(fd int, p []byte) error {
	return unix.Sendto(fd, p, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
}
