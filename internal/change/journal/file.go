package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"piton/internal/userfile"
)

// File is the Store in a file of piton's state directory.
type File struct {
	path string
	last os.FileInfo // of the last Read
	held *stateFile  // during Exclusive
	kept openFile
}

// largest is the size from which a journal is not read: compaction keeps it far
// below.
const largest = 512 << 20

// appendWait bounds the wait for another piton that is writing a line.
const appendWait = 2 * time.Second

func (f *File) open(flag int) (*os.File, error) { return userfile.OpenState(f.path, flag|os.O_APPEND) }

// Exclusive is part of Store.
func (f *File) Exclusive(do func(size int64) error) error {
	file, err := f.kept.lock(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, appendWait)
	if err != nil {
		return err
	}
	f.held = file
	err = do(file.is.Size())
	f.held = nil
	return errors.Join(err, f.kept.unlock(file))
}

// Read is part of Store.
func (f *File) Read(offset int64) ([]byte, bool, error) {
	file := f.held
	if file == nil {
		own, err := openStateFile(f.path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) { // nothing has been written yet, or it was removed
			fresh := f.last != nil
			f.last = nil
			return nil, fresh, nil
		}
		if err != nil {
			return nil, false, err
		}
		defer func() { _ = own.Close() }()
		file = own
	}
	info := file.is
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
		return errors.Join(err, f.held.Truncate(f.held.is.Size())) // a full disk leaves no half record
	}
	return nil
}

// Room is part of Store; it is called during Exclusive.
func (f *File) Room(bytes int) error {
	blank := append(slices.Repeat([]byte{' '}, bytes-1), '\n') // a line that says nothing, should piton be killed now
	return errors.Join(f.Append(blank), f.held.Truncate(f.held.is.Size()))
}

// Replace is part of Store.
func (f *File) Replace(data []byte) error {
	err := userfile.ReplaceState(f.path, userfile.Unsynced, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	f.held = nil // what is read now is the new file
	f.last, err = os.Stat(f.path)
	return err
}
