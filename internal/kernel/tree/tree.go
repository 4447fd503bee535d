// Package tree keeps reading below a tree of /proc and /sys that others made inside of it, as
// chroot(2) would: links are resolved as if the tree's top were the root directory, and what
// is no regular file is not read. internal/kernel asks it for each path; start at Confine.
package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is about a device, a FIFO, a socket or a directory where a file was expected.
var ErrNotRegular = errors.New("not a regular file")

// Tree is a confined one. The descriptor stays open for the rest of the process.
type Tree struct {
	root string // its path, absolute and clean
	top  int    // open as a place only
}

// all is nil in a process that reads the running machine only.
var all atomic.Pointer[[]*Tree]

// Confine makes all functions of internal/kernel that take an absolute path read those below
// root, which is absolute and clean, inside of it, for the rest of the process. It needs
// openat2(2), Linux 5.6.
func Confine(root string) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	top, err := unix.Openat2(unix.AT_FDCWD, root, &how)
	switch err {
	case nil:
	case unix.ENOSYS, unix.EPERM: // a seccomp filter
		return fmt.Errorf("links could lead out of it, since openat2(2), Linux 5.6, is missing or forbidden here (%w)", errors.ErrUnsupported)
	default:
		return err
	}
	for {
		old := all.Load()
		trees := []*Tree{{root, top}}
		if old != nil {
			trees = append(trees, *old...) // the newest of a path counts: it may be another directory now
		}
		slices.SortStableFunc(trees, func(a, b *Tree) int { return len(b.root) - len(a.root) }) // the innermost first
		if all.CompareAndSwap(old, &trees) {
			return nil
		}
	}
}

// Of returns the tree that a path belongs to, nil for none. The path may end in a NUL byte,
// and dir is that of openat(2).
func Of(dir int, path []byte) *Tree {
	trees := all.Load()
	if trees == nil || dir != unix.AT_FDCWD {
		return nil
	}
	path = bytes.TrimSuffix(path, []byte{0})
	for _, t := range *trees {
		if rest, ok := bytes.CutPrefix(path, []byte(t.root)); ok && (len(rest) == 0 || rest[0] == '/') {
			return t
		}
	}
	return nil
}

// Open opens a path of the tree for reading, a regular file or, with O_DIRECTORY, a
// directory. A device is not opened at all, since that alone can have an effect.
func (t *Tree) Open(path []byte, flags uint64) (int, error) {
	if flags&unix.O_DIRECTORY != 0 {
		return t.openat2(path, flags)
	}
	for _, flags := range []uint64{unix.O_PATH | unix.O_CLOEXEC, flags | unix.O_NONBLOCK | unix.O_NOCTTY} {
		fd, err := t.openat2(path, flags)
		if err != nil {
			return -1, err
		}
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
			err = ErrNotRegular
		}
		if err == nil && flags&unix.O_PATH == 0 {
			return fd, nil
		}
		_ = unix.Close(fd) // nothing was written
		if err != nil {
			return -1, err
		}
	}
	panic("unreachable")
}

// mostTries is how often a path with ".." is resolved anew: while anything on the machine is
// renamed or mounted, the kernel cannot tell that ".." stays inside, and says EAGAIN.
const mostTries = 128

func (t *Tree) openat2(path []byte, flags uint64) (fd int, err error) {
	name := strings.TrimLeft(string(bytes.TrimSuffix(path, []byte{0})[len(t.root):]), "/")
	if name == "" {
		name = "."
	}
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for range mostTries {
		if fd, err = unix.Openat2(t.top, name, &how); err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	return fd, err
}

// place opens a path of the tree as a place only.
func (t *Tree) place(path []byte, flags uint64) (*os.File, error) {
	name := string(bytes.TrimSuffix(path, []byte{0}))
	fd, err := t.openat2(path, flags|unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Stat is os.Stat of a path of the tree.
func (t *Tree) Stat(path []byte) (fs.FileInfo, error) {
	f, err := t.place(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// ReadLink is readlink(2) of a path of the tree.
func (t *Tree) ReadLink(path []byte) (string, error) {
	f, err := t.place(path, unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	return string(buf[:max(n, 0)]), err
}
