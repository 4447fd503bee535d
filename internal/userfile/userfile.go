// Package userfile opens files of the user: those that the user names (Read,
// Replace), with a limit on what is read, and those that piton keeps (StateDir,
// OpenState), which nobody else may have written or may redirect. It never
// touches files of the kernel.
package userfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a new file beside the one at path, synced, and gives it that
// name: a reader sees the old text or the new one. The directory has to be there.
// A link stays one and what it points to is replaced; what is no regular file,
// such as /dev/null, is written to and stays what it is. Errors are without the
// path: the new file's is not the one that the user knows.
func Replace(path string, data []byte, mode fs.FileMode) error {
	path, whole := target(path)
	if !whole {
		f, err := open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
		if err != nil {
			return bare(err)
		}
		_, err = f.Write(data)
		return bare(errors.Join(err, f.Close()))
	}
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return bare(err)
	}
	defer dir.Close()
	return bare(dir.replace(filepath.Base(path), mode, Synced, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}))
}

// Writable says why Replace could not write to path, and changes nothing there.
func Writable(path string) error {
	path, whole := target(path)
	f, err := open(path, os.O_WRONLY, 0)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil || !whole {
		return bare(err)
	}
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return bare(err)
	}
	defer dir.Close()
	if f, err = dir.beside(filepath.Base(path)); err != nil {
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
