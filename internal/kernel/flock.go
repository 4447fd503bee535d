package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes the exclusive advisory lock of f's file, waiting for it (flock(2)).
// Closing f, or the end of the process, gives it back.
func Lock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		return nil
	}
}

// TryLockAt takes the exclusive lock of one byte of f's file, which need not be
// there, unless somebody else has it (F_OFD_SETLK, fcntl(2)): another process, or
// this one by another os.File. Closing f, or the end of the process, gives it back.
func TryLockAt(f *os.File, offset int64) (ok bool, err error) {
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: offset, Len: 1})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return true, nil
}

// TryLock takes the exclusive advisory lock of f's file unless somebody else has it
// (flock(2)). Closing f, or the end of the process, gives it back.
func TryLock(f *os.File) (ok bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		default:
			return true, nil
		}
	}
}

// Unlock gives back what TryLock took.
func Unlock(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return fmt.Errorf("unlock %s: %w", f.Name(), err)
	}
	return nil
}
