package kernel

import (
	"errors"
	"fmt"
	"os"

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
