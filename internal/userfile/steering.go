package userfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/kernel"
)

// Steering is Read for a file that says what piton changes, such as rules and
// profiles. untrusted is why root must not follow it: somebody else can change what is
// at the path, or which file that is. Others than root answer for their own files.
// What is read is the file that was checked. A pipe that the caller was started with,
// such as <(command) of a shell, is read to its end.
func Steering(path string, limit int64) (data []byte, untrusted, err error) {
	if pipe := ownPipe(path); pipe != nil {
		defer pipe.Close()
		data, err = ReadAll(pipe, path, limit)
		return data, nil, err
	}
	if kernel.EUID() != 0 {
		data, err = Read(path, limit)
		return data, nil, err
	}
	place, untrusted, err := walk(path)
	if err != nil {
		return nil, nil, err
	}
	defer place.Close()
	// The path may lead to another file now; the descriptor does not.
	if info, err := place.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(folder{place}.at(""))
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: bare(err)}
	}
	defer f.Close()
	data, err = readRegular(f, path, limit)
	return data, untrusted, err
}

// ConfigDir is where the user's configuration is: below $XDG_CONFIG_HOME (XDG Base
// Directory Specification 0.8), else below ~/.config; "" where there is no $HOME
// either. untrusted is why root reads and writes nothing there, as after sudo -E.
func ConfigDir(getenv func(string) string, euid int) (dir string, untrusted error) {
	dir = getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return "", nil
		}
		dir = filepath.Join(home, ".config")
	}
	dir = filepath.Join(dir, "piton")
	if euid == 0 {
		untrusted = rootsOwn(dir)
	}
	return dir, untrusted
}

// rootsOwn is nil if only root can say what is at a path, which need not be there.
func rootsOwn(path string) error {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		place, untrusted, err := walk(path)
		if err != nil {
			return err
		}
		return errors.Join(untrusted, place.Close())
	}
}

// maxLinks is how many symbolic links a path may lead through, as for the kernel
// (path_resolution(7)).
const maxLinks = 40

// walk opens a path as a place only, a name at a time. untrusted is the first directory,
// link or file on the way that not only root can change. In a user namespace the root
// directory and what is above the user's own belong to the same stranger, whom nothing
// there can keep out. In a directory such as /tmp only what is root's itself is safe.
func walk(name string) (end *os.File, untrusted, err error) {
	var way []*os.File
	defer func() {
		for _, f := range way {
			if f != end {
				_ = f.Close() // it is a place only
			}
		}
		if err != nil {
			err = &fs.PathError{Op: "open", Path: name, Err: bare(err)}
		}
	}()
	rest, err := absolute(name)
	if err != nil {
		return nil, nil, err
	}
	root, top, err := step(nil, "/", false)
	if err != nil {
		return nil, nil, err
	}
	way = append(way, root)
	at, links := root, 0
	for rest != "" {
		var next string
		if next, rest, _ = strings.Cut(rest, "/"); next == "" || next == "." {
			continue
		}
		f, info, err := step(at, next, rest != "")
		if err != nil {
			return nil, nil, err
		}
		way = append(way, f)
		if untrusted == nil {
			untrusted = changeable(f, info, owner(top))
		}
		if info.Mode().Type() != fs.ModeSymlink {
			at = f
			continue
		}
		to, err := kernel.ReadLinkAt(int(f.Fd()), "")
		if links++; err == nil && links > maxLinks {
			err = errLinks
		}
		if err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(to, "/") {
			at = root
		}
		rest = to + "/" + rest
	}
	return at, untrusted, nil
}

// absolute is a path from the root directory on; nothing in it is resolved.
func absolute(name string) (string, error) {
	if strings.HasPrefix(name, "/") || name == "" {
		return name, nil
	}
	dir, err := os.Getwd()
	return dir + "/" + name, err
}

// step opens a name below a directory as a place only; nil is the root directory. A
// directory on the way is opened as one, so that it is mounted where automount does that.
func step(at *os.File, name string, onTheWay bool) (*os.File, fs.FileInfo, error) {
	dir, whole := kernel.NoDir, name
	if at != nil {
		dir, whole = int(at.Fd()), path.Join(at.Name(), name)
	}
	flag := kernel.OpenPath | syscall.O_NOFOLLOW
	f, err := (*os.File)(nil), error(syscall.ENOTDIR)
	if onTheWay {
		f, err = resolved(dir, name, whole, flag|syscall.O_DIRECTORY, 0, kernel.NoMagicLinks)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		f, err = resolved(dir, name, whole, flag, 0, kernel.NoMagicLinks)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// changeable says why others than root can change what an open place is or holds; top
// is the owner of the root directory.
func changeable(f *os.File, info fs.FileInfo, top int) error {
	kind := info.Mode().Type()
	switch {
	case owner(info) != 0 && owner(info) != top:
		return fmt.Errorf("%s belongs to user %d, and root follows no file that others can change", f.Name(), owner(info))
	case kind == fs.ModeSymlink || kind == fs.ModeDir && info.Mode()&fs.ModeSticky != 0:
		return nil
	case info.Mode().Perm()&othersWrite != 0:
		return fmt.Errorf("others may write to %s (mode %#o), and root follows no file that others can change; chmod go-w makes it safe",
			f.Name(), info.Mode().Perm())
	}
	return nil
}

// ownPipe is a pipe that this process was started with, /dev/fd/N of a shell's
// <(command); nil for any other path.
func ownPipe(name string) *os.File {
	dir, number := path.Split(name)
	fd, err := strconv.ParseUint(number, 10, 16)
	if err != nil || fd <= 2 || dir != "/dev/fd/" && dir != "/proc/self/fd/" {
		return nil
	}
	again, err := syscall.Dup(int(fd)) // so that the shell's own stays open
	if err != nil {
		return nil
	}
	syscall.CloseOnExec(again)
	f := os.NewFile(uintptr(again), name)
	if info, err := f.Stat(); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		_ = f.Close() // nothing was read from it
		return nil
	}
	return f
}
