package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"piton/internal/kernel"
	"piton/internal/userfile"
)

// File is the Store in a file of piton's state directory.
type File struct {
	path string
	last os.FileInfo // of the last Read
	held *os.File    // during Exclusive
}

// largest is the size from which a journal is not read: compaction keeps it far
// below.
const largest = 512 << 20

// appendWait bounds the wait for another piton that is writing a line.
const appendWait = 2 * time.Second

func (f *File) create() error {
	file, err := f.open(os.O_RDWR | os.O_CREATE)
	if err != nil {
		return err
	}
	return file.Close()
}

func (f *File) open(flag int) (*os.File, error) { return userfile.OpenState(f.path, flag|os.O_APPEND) }

// Exclusive is part of Store.
func (f *File) Exclusive(do func() error) error {
	for {
		file, err := f.open(os.O_RDWR | os.O_CREATE)
		if err != nil {
			return err
		}
		if err := waitLock(file, appendWait); err != nil {
			return errors.Join(err, file.Close())
		}
		if f.replaced(file) { // by a compaction, while this waited
			_ = file.Close()
			continue
		}
		f.held = file
		err = do()
		f.held = nil
		return errors.Join(err, file.Close())
	}
}

func (f *File) replaced(file *os.File) bool {
	open, err := file.Stat()
	now, nowErr := os.Stat(f.path)
	return err == nil && nowErr == nil && !os.SameFile(open, now)
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

// Size is part of Store; it is called during Exclusive.
func (f *File) Size() (int64, error) {
	info, err := f.held.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
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
		return nil, false, fmt.Errorf("it has %d MB, and no journal has more than %d: move it away", info.Size()>>20, largest>>20)
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
func (f *File) Append(data []byte, sync bool) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	if _, err := f.held.Write(data); err != nil {
		return errors.Join(err, f.held.Truncate(size)) // a full disk leaves no half record
	}
	if sync {
		return f.held.Sync()
	}
	return nil
}

// Replace is part of Store.
func (f *File) Replace(data []byte) error {
	err := userfile.ReplaceState(f.path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil {
		f.held = nil // what is read now is the new file
	}
	return err
}
