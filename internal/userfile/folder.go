package userfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// folder is an open directory: what is done in it is done in this one, whatever
// becomes of its path meanwhile.
type folder struct{ *os.File }

// MakeDir makes a directory and those above it that are missing. Root makes none through
// a link of others.
func MakeDir(path string) error {
	dir, err := makeFolder(filepath.Clean(path), 0o755)
	if err != nil {
		return err
	}
	return dir.Close()
}

// openFolder opens a directory. Root goes through no link of others.
func openFolder(path string) (folder, error) {
	at, foreign, err := walk(path+"/", linkOfOthers)
	_ = at.dir.Close() // a place only; nil is no file
	if err = cmp.Or(foreign, err); err != nil {
		_ = at.end.Close()
		return folder{}, err
	}
	return folder{at.end}, nil
}

// makeFolder is openFolder that creates what is missing of a clean path.
func makeFolder(path string, mode fs.FileMode) (folder, error) {
	dir, err := openFolder(path)
	if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return dir, err
	}
	above, err := makeFolder(filepath.Dir(path), mode)
	if err != nil {
		return folder{}, err
	}
	defer above.Close()
	if err := above.mkdir(filepath.Base(path), mode); err != nil {
		return folder{}, err
	}
	return openFolder(path)
}

// at is the path of a name in the directory, for calls that take no descriptor.
func (d folder) at(name string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(d.Fd())), name)
}

func (d folder) mkdir(name string, mode fs.FileMode) error {
	if err := os.Mkdir(d.at(name), mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "mkdir", Path: filepath.Join(d.Name(), name), Err: bare(err)}
	}
	return nil
}

// beside creates a file in the directory next to the one of this name.
func (d folder) beside(name string) (*os.File, error) {
	return os.CreateTemp(d.at(""), "."+name+".*")
}

// Durability says whether the new content of a file is sure to survive the end of the machine.
type Durability bool

// The durabilities.
const (
	Unsynced Durability = false // after a power failure the file may be the old one, the new one or empty
	Synced   Durability = true
)

// replace gives the name to a new file with what write puts there.
func (d folder) replace(name string, mode fs.FileMode, kept Durability, write func(io.Writer) error) error {
	f, err := d.beside(name)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode))
	if kept == Synced {
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), d.at(name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
