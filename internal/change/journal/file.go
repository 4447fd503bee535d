package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"piton/internal/kernel"
	"piton/internal/userfile"
)

// File is the Store in a file of piton's state directory.
type File struct {
	path string
	last os.FileInfo // of the last Read
	held *stateFile  // during Exclusive
	kept openFile
}

const (
	// largest is the size from which a journal is not read: compaction keeps it far
	// below.
	largest = 256 << 20
	// largestHole is the same of a part that was never written: reading makes zeros of it.
	largestHole = 64 << 20
)

// Of lseek(2), since Linux 3.1.
const seekData, seekHole = 3, 4

// hole returns the size of the first hole that is too large to be read, 0 if there is none.
func hole(file *os.File, info os.FileInfo) int64 {
	size := info.Size()
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || size-st.Blocks*512 < largestHole {
		return 0
	}
	for at := int64(0); at < size; {
		begin, err := file.Seek(at, seekHole)
		if err != nil {
			return 0 // it is not known, or it has just been made shorter
		}
		if at, err = file.Seek(begin, seekData); err != nil { // ENXIO: up to the end
			at = size
		}
		if at-begin >= largestHole {
			return at - begin
		}
	}
	return 0
}

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
	if n := hole(file.File, info); n > 0 {
		return nil, false, fmt.Errorf("not read: %d MB of it were never written (a hole), the limit is %d MB. Move it away", n>>20, largestHole>>20)
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
	err := kernel.Reserve(int(f.held.Fd()), f.held.is.Size(), int64(bytes)) // readers see nothing of it
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return nil // NFS before version 4.2, for one: the record itself will tell
	}
	return err
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
