package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"piton/internal/kernel"
)

// StateDir is where piton keeps what it remembers: below $XDG_STATE_HOME (XDG Base
// Directory Specification 0.8), else below /var/lib for root and below
// ~/.local/state for others; "" for others who have no $HOME either. Root does not
// follow $XDG_STATE_HOME to where others may write, as after sudo -E.
func StateDir(getenv func(string) string, euid int) string {
	state, home := getenv("XDG_STATE_HOME"), getenv("HOME")
	switch {
	case filepath.IsAbs(state) && StateLeftOut(getenv, euid) == nil: // the specification says to ignore others
	case euid == 0:
		state = "/var/lib"
	case home == "":
		return ""
	default:
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "piton")
}

// StateLeftOut is why root does not use $XDG_STATE_HOME.
func StateLeftOut(getenv func(string) string, euid int) error {
	state := getenv("XDG_STATE_HOME")
	if euid != 0 || !filepath.IsAbs(state) {
		return nil
	}
	return rootsOwn(state)
}

// othersWrite are the permissions by which others than a file's owner write to it.
const othersWrite = 0o022

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// OpenState opens a file that piton keeps, such as the journal. It must be a
// regular file, it and its directory must be the caller's own and not writable by
// others, and neither may be a symbolic link; else nothing is read or written.
// With os.O_CREATE both are created where they are missing, for the caller alone.
// A file that is not there is fs.ErrNotExist.
func OpenState(path string, flag int) (*os.File, error) {
	dir, err := openState(filepath.Dir(path), flag&os.O_CREATE != 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.open(filepath.Base(path), path, flag)
}

// ReplaceState is Replace for a file that piton keeps, with what write puts there.
func ReplaceState(path string, d Durability, write func(io.Writer) error) error {
	dir, err := openState(filepath.Dir(path), true)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(path)
	old, err := dir.open(name, path, os.O_RDONLY)
	if err == nil {
		err = old.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return bare(dir.replace(name, 0o600, d, write))
}

// openState opens the directory of piton's files.
func openState(path string, create bool) (folder, error) {
	find := openFolder
	if create {
		find = func(path string) (folder, error) { return makeFolder(path, 0o700) }
	}
	above, err := find(filepath.Dir(path))
	if err != nil {
		return folder{}, err
	}
	defer above.Close()
	name := filepath.Base(path)
	if create {
		if err := above.mkdir(name, 0o700); err != nil {
			return folder{}, err
		}
	}
	f, err := resolved(int(above.Fd()), name, path, kernel.OpenPath|syscall.O_DIRECTORY, 0, kernel.NoLinks)
	if err != nil {
		return folder{}, err
	}
	if err := callersOwn(f); err != nil {
		return folder{}, errors.Join(err, f.Close())
	}
	return folder{f}, nil
}

// open opens one of piton's files. It is checked before anything in it changes.
func (d folder) open(name, path string, flag int) (*os.File, error) {
	mode := fs.FileMode(0)
	if flag&os.O_CREATE != 0 {
		mode = 0o600
	}
	f, err := resolved(int(d.Fd()), name, path, flag&^os.O_TRUNC|syscall.O_NONBLOCK|syscall.O_NOCTTY, mode, kernel.NoLinks)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		err = callersOwn(f)
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// callersOwn is nil for what belongs to the caller and nobody else may write to.
func callersOwn(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	switch perm := info.Mode().Perm(); {
	case owner(info) != kernel.EUID():
		return fmt.Errorf("%s is not used: it belongs to user %d, and piton runs as user %d", f.Name(), owner(info), kernel.EUID())
	case perm&othersWrite != 0:
		return fmt.Errorf("%s is not used: others may write to it (mode %#o); chmod go-w makes it safe", f.Name(), perm)
	}
	return nil
}
