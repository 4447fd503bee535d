// Package userfile opens files of the user: those that the user names (Read,
// Replace), with a limit on what is read, and those that piton keeps (StateDir,
// OpenState), which nobody else may have written or may redirect. It never
// touches files of the kernel.
package userfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"piton/internal/kernel"
)

// Replace writes a new file beside the one at path, synced, and gives it that
// name: a reader sees the old text or the new one. The directory has to be there.
// A link stays one and what it points to is replaced, but root follows no link of
// others; what is no regular file, such as /dev/null, is written to and stays what
// it is. Errors are without the path: the new file's is not the one that the user knows.
func Replace(path string, data []byte, mode fs.FileMode) error {
	at, whole, err := destination(path)
	defer at.close()
	if err != nil {
		return bare(err)
	}
	write := func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
	if whole {
		return bare(folder{at.dir}.replace(at.name, mode, Synced, write))
	}
	f, err := at.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return bare(err)
	}
	return bare(errors.Join(write(f), f.Close()))
}

// Writable says why Replace could not write to path, and changes nothing there.
func Writable(path string) error {
	at, whole, err := destination(path)
	defer at.close()
	if err != nil {
		return bare(err)
	}
	f, err := at.open(path, os.O_WRONLY, 0)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil || !whole {
		return bare(err)
	}
	if f, err = (folder{at.dir}).beside(at.name); err != nil {
		return bare(err)
	}
	return bare(errors.Join(f.Close(), os.Remove(f.Name())))
}

// destination follows links, and says whether a whole new file may take the place of
// what is there: of a regular file or of nothing.
func destination(path string) (at place, whole bool, err error) {
	at, foreign, err := walk(path, linkOfOthers)
	switch {
	case foreign != nil:
		return at, false, foreign
	case at.dir == nil:
		return at, false, cmp.Or(err, error(syscall.EISDIR))
	case at.end == nil:
		return at, true, nil
	}
	info, err := at.end.Stat()
	return at, err == nil && info.Mode().IsRegular(), err
}

// linkOfOthers refuses root a link that somebody else made: it may lead to any file
// (fs.protected_symlinks, proc_sys_fs(5), is about directories such as /tmp only).
func linkOfOthers(f *os.File, info fs.FileInfo, top int) error {
	if kernel.EUID() == 0 && info.Mode().Type() == fs.ModeSymlink && owner(info) != 0 && owner(info) != top {
		return fmt.Errorf("%s is a link of user %d, and root writes through none of others", f.Name(), owner(info))
	}
	return nil
}

// open opens what is at the place, without links; path is for errors.
func (p place) open(path string, flag int, mode fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE == 0 {
		mode = 0 // openat2 allows no other
	}
	return resolved(int(p.dir.Fd()), p.name, path, flag|syscall.O_NONBLOCK|syscall.O_NOCTTY, mode, kernel.NoLinks)
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
