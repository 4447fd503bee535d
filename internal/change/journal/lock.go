package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	return &fileLock{path: filepath.Join(userfile.RuntimeDir(euid, state), "lock")}
}

type fileLock struct {
	path string
	kept openFile
}

// holderSize is more than the holder's name needs, so that it replaces any other.
const holderSize = 256

func (l *fileLock) Acquire(most time.Duration, command string) (release func(), err error) {
	f, err := l.kept.lock(l.path, os.O_RDWR|os.O_CREATE, most)
	if Unwritable(err) {
		if there, readErr := l.kept.lock(l.path, os.O_RDONLY, most); readErr == nil || errors.Is(readErr, ErrBusy) {
			f, err = there, readErr
		}
	}
	if errors.Is(err, ErrBusy) {
		return nil, fmt.Errorf("%w: %s; nothing was done after waiting %v", ErrBusy, l.holder(), most)
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	// For those that wait. A failure costs only the name.
	_, _ = f.WriteAt(fmt.Appendf(nil, "%-*s", holderSize, fmt.Sprintf("%.60s (%d)\n", command, os.Getpid())), 0)
	return func() { _ = l.kept.unlock(f) }, nil
}

func (l *fileLock) holder() string {
	f, err := userfile.OpenState(l.path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	name, _ := io.ReadAll(io.LimitReader(f, holderSize))
	return strings.TrimSpace(string(name))
}

// openFile keeps a file open between the times that it is locked: a piton that makes many
// changes does not look for it anew each time. What locks it at the same time opens it again.
type openFile struct {
	mu   sync.Mutex
	idle *stateFile
}

type stateFile struct {
	*os.File
	is os.FileInfo // when it was opened or locked
}

func openStateFile(path string, flag int) (*stateFile, error) {
	f, err := userfile.OpenState(path, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stateFile{f, info}, nil
}

// lock opens the file of a path, if it is not open, and takes its lock; the wait is bounded.
// Call unlock when that is over.
func (o *openFile) lock(path string, flag int, most time.Duration) (*stateFile, error) {
	for {
		o.mu.Lock()
		file := o.idle
		o.idle = nil
		o.mu.Unlock()
		if file == nil {
			var err error
			if file, err = openStateFile(path, flag); err != nil {
				return nil, err
			}
		}
		if err := waitLock(file.File, most); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		now, err := os.Stat(path)
		if err == nil && os.SameFile(file.is, now) {
			file.is = now
			return file, nil
		}
		_ = file.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// unlock gives the lock back.
func (o *openFile) unlock(file *stateFile) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.idle == nil && kernel.Unlock(file.File) == nil {
		o.idle = file
		return nil
	}
	return file.Close()
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
