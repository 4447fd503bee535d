// Package userfile says where piton keeps its own files, and replaces them whole
// or not at all. It never touches files of the kernel.
package userfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// StateDir is where piton keeps what it remembers: below $XDG_STATE_HOME (XDG Base
// Directory Specification 0.8), else below /var/lib for root and below
// ~/.local/state for others; "" for others who have no $HOME either.
func StateDir(getenv func(string) string, euid int) string {
	state, home := getenv("XDG_STATE_HOME"), getenv("HOME")
	switch {
	case filepath.IsAbs(state): // the specification says to ignore others
	case euid == 0:
		state = "/var/lib"
	case home == "":
		return ""
	default:
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "piton")
}

// Replace writes a new file beside the one at path, synced, and gives it that
// name: a reader sees the old text or the new one. The directory has to be there.
// A link stays one and what it points to is replaced; what is no regular file,
// such as /dev/null, is written to and stays what it is. Errors are without the
// path, of which the new file's is not the one that the user knows.
func Replace(path string, data []byte, mode fs.FileMode) error {
	path, whole := target(path)
	if !whole {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		if err != nil {
			return bare(err)
		}
		_, err = f.Write(data)
		return bare(errors.Join(err, f.Close()))
	}
	f, err := beside(path)
	if err != nil {
		return bare(err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return bare(err)
}

// Writable says why Replace could not write to path, and changes nothing there.
func Writable(path string) error {
	path, whole := target(path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil || !whole {
		return bare(err)
	}
	if f, err = beside(path); err != nil {
		return bare(err)
	}
	return bare(errors.Join(f.Close(), os.Remove(f.Name())))
}

// target follows links, and says whether a whole new file may take the place of
// what is there: of a regular file or of nothing. A link to nothing is followed
// by opening it.
func target(path string) (real string, whole bool) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Lstat(path)
	return path, err != nil || info.Mode().IsRegular()
}

func beside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// bare is an error without operation and path.
func bare(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
