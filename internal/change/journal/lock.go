package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piton/internal/kernel"
	"piton/internal/userfile"
)

// ErrBusy is what the error of a lock that was not to be had in time is (errors.Is).
var ErrBusy = errors.New("another piton is changing something")

// Lock keeps the changes of one user apart, from reading the old value to the record
// of the end, whatever journal they are in. Other users cannot hold it.
type Lock interface {
	// Acquire waits for at most the given time; command is shown to those that wait
	// meanwhile. An error that Is ErrBusy names the holder.
	Acquire(most time.Duration, command string) (release func(), err error)
}

// UserLock returns the lock of a user: a file below /run, or beside the state where
// the user has no directory there.
func UserLock(euid int, state string) Lock {
	return fileLock(filepath.Join(userfile.RuntimeDir(euid, state), "lock"))
}

type fileLock string

func (l fileLock) Acquire(most time.Duration, command string) (release func(), err error) {
	f, err := userfile.OpenState(string(l), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := waitLock(f, most); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 200))
		_ = f.Close()
		if !errors.Is(err, ErrBusy) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s; nothing was done after waiting %v", ErrBusy, strings.TrimSpace(string(holder)), most)
	}
	// The holder's name, for those that wait. It is never synced, and a failure costs
	// only the name.
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%.60s (%d)\n", command, os.Getpid())
	}
	return func() { _ = f.Close() }, nil
}

// waitLock takes the file's lock; the wait is bounded.
func waitLock(file *os.File, most time.Duration) error {
	for end := time.Now().Add(most); ; time.Sleep(time.Millisecond) {
		ok, err := kernel.TryLock(file)
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("another piton has been writing to it for %v: %w", most, ErrBusy)
		}
	}
}
