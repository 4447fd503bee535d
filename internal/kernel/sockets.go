package kernel

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// IncomingCPUs reads which CPU each of a process's sockets last received a packet
// on (SO_INCOMING_CPU, socket(7)); -1 for a socket that received none, or is gone.
//
// The sockets are duplicated for the moment of the call (pidfd_getfd(2), Linux
// 5.6), which needs the right to attach to the process as a debugger
// (PTRACE_MODE_ATTACH_REALCREDS). The process does not notice it.
func IncomingCPUs(pid TID, fds []int) ([]int, error) {
	pidfd, err := unix.PidfdOpen(int(pid), 0)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, os.NewSyscallError("pidfd_open", err))
	}
	defer unix.Close(pidfd)
	out := make([]int, len(fds))
	for i, fd := range fds {
		out[i] = -1
		own, err := unix.PidfdGetfd(pidfd, fd, 0)
		switch err {
		case nil:
		case unix.EBADF: // closed meanwhile
			continue
		default:
			return nil, fmt.Errorf("duplicate descriptor %d of %d: %w", fd, pid, os.NewSyscallError("pidfd_getfd", err))
		}
		if cpu, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_INCOMING_CPU); err == nil {
			out[i] = cpu
		}
		unix.Close(own)
	}
	return out, nil
}
