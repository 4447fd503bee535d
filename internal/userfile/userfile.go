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
// Errors are without the path, of which the new file's is not the one that the
// user knows.
func Replace(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
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
