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

// File is the Store in a file of piton's state directory.
type File struct {
	path string
	last os.FileInfo // of the last Read
	held *os.File    // during Exclusive
	size int64       // of held, at its beginning
}

// largest is the size from which a journal is not read: compaction keeps it far
// below.
const largest = 512 << 20

// appendWait bounds the wait for another piton that is writing a line.
const appendWait = 2 * time.Second

func (f *File) open(flag int) (*os.File, error) { return userfile.OpenState(f.path, flag|os.O_APPEND) }

// Exclusive is part of Store.
func (f *File) Exclusive(do func(size int64) error) error {
	for {
		file, err := f.open(os.O_RDWR | os.O_CREATE)
		if err != nil {
			return err
		}
		err = waitLock(file, appendWait)
		info, statErr := file.Stat()
		if err != nil || statErr != nil {
			return errors.Join(err, statErr, file.Close())
		}
		if now, err := os.Stat(f.path); err == nil && !os.SameFile(info, now) { // replaced by a compaction meanwhile
			_ = file.Close()
			continue
		}
		f.held, f.size = file, info.Size()
		err = do(f.size)
		f.held = nil
		return errors.Join(err, file.Close())
	}
}

// Read is part of Store.
func (f *File) Read(offset int64) ([]byte, bool, error) {
	file := f.held
	if file == nil {
		var err error
		if file, err = f.open(os.O_RDONLY); err != nil {
			return nil, false, err
		}
		defer func() { _ = file.Close() }()
	}
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if info.Size() > largest {
		return nil, false, fmt.Errorf("not read: it has %d MB, the limit is %d MB. Move it away", info.Size()>>20, largest>>20)
	}
	fresh := f.last != nil && (!os.SameFile(f.last, info) || info.Size() < offset)
	if fresh {
		offset = 0
	}
	f.last = info
	data := make([]byte, max(0, info.Size()-offset))
	n, err := file.ReadAt(data, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], fresh, err
}

// Append is part of Store; it is called during Exclusive.
func (f *File) Append(data []byte) error {
	if _, err := f.held.Write(data); err != nil {
		return errors.Join(err, f.held.Truncate(f.size)) // a full disk leaves no half record
	}
	return nil
}

// Replace is part of Store.
func (f *File) Replace(data []byte) error {
	err := userfile.ReplaceState(f.path, userfile.Unsynced, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil {
		f.held = nil // what is read now is the new file
	}
	return err
}

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
	// The holder's name, for those that wait. A failure costs only the name.
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
