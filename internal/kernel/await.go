package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// AwaitExit waits until a child of the caller has ended, and leaves it to be
// waited for: until then its number is nobody else's (waitid(2), WNOWAIT).
func AwaitExit(pid TID) error {
	for {
		err := unix.Waitid(unix.P_PID, int(pid), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			if err != nil {
				err = fmt.Errorf("waitid of %d: %w", pid, err)
			}
			return err
		}
	}
}
