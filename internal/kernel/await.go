package kernel

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the beginning of siginfo_t as it tells of a child (sigaction(2)).
type childInfo struct {
	_      [3]int32   // signal, errno, code
	_      [0]uintptr // what differs by signal begins where a pointer may
	_      [2]int32   // PID, UID
	status int32      // of its exit, or the signal that killed it
}

// AwaitExit waits until a child of the caller has ended, says whether with status
// 0, and leaves it to be waited for: until then its number is nobody else's
// (waitid(2), WNOWAIT).
func AwaitExit(pid TID) (ok bool, err error) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, int(pid), &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("waitid of %d: %w", pid, err)
		}
		return (*childInfo)(unsafe.Pointer(&info)).status == 0, nil
	}
}
