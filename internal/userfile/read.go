package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"piton/internal/kernel"
)

// Read returns what a file that the user names holds. It must be a regular file of
// at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f, path, limit)
}

// Open opens a file that the user names, which must be a regular one, to read parts of it.
func Open(path string) (f *os.File, size int64, err error) {
	if f, err = open(path, os.O_RDONLY, 0); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Create makes a file that the user names, for the caller alone. One that is there is
// fs.ErrExist.
func Create(path string) (*os.File, error) {
	return open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func notRegular(path string) error { return fmt.Errorf("%s is not a regular file", path) }

// readRegular reads an open file of this name, which must be a regular one.
func readRegular(f *os.File, path string, limit int64) ([]byte, error) {
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	// Some files below /proc, which say that they are regular, wait for data.
	_ = f.SetReadDeadline(time.Now().Add(time.Second)) // others have no deadline and need none
	return ReadAll(f, path, limit)
}

// ReadAll returns what an open file of this name holds, at most limit bytes.
func ReadAll(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%s is larger than %s", name, size(limit))
	}
	return data, nil
}

// size is a limit in words, "16 MiB".
func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// open opens a path that the user names. It does not wait for the other end of a
// FIFO, becomes no controlling terminal, and does not lead through what other
// processes have open: with file capabilities piton could follow where its user
// may not.
func open(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE == 0 {
		mode = 0 // openat2 allows no other
	}
	return resolved(kernel.NoDir, path, path, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, mode, kernel.NoMagicLinks)
}

// resolved opens name below the directory dir; path is its whole path, for errors.
func resolved(dir int, name, path string, flag int, mode fs.FileMode, how kernel.Resolve) (*os.File, error) {
	for {
		fd, err := kernel.OpenResolved(dir, name, flag, uint32(mode.Perm()), how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ELOOP) && how == kernel.NoLinks:
			err = errLink
		case errors.Is(err, syscall.ELOOP):
			err = errLinks
		case errors.Is(err, syscall.ENXIO):
			err = errNoReader
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
}

var (
	errLinks    = errors.New("symbolic links in a circle, or to what a process has open, are not followed")
	errLink     = errors.New("it is a symbolic link, and piton follows none to its own files")
	errNoReader = errors.New("no process reads from it")
)
