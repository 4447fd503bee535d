package userfile

import (
	"cmp"
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
	at, untrusted, err := walk(path, changeable)
	defer at.close()
	if err != nil {
		return nil, nil, err
	}
	// The path may lead to another file now; the descriptor does not.
	if info, err := at.end.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(folder{at.end}.at(""))
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
		at, untrusted, err := walk(path, changeable)
		at.close()
		return cmp.Or(err, untrusted)
	}
}

// maxLinks is how many symbolic links a path may lead through, as for the kernel
// (path_resolution(7)).
const maxLinks = 40

// place is where a path leads, open as a place only.
type place struct {
	dir  *os.File // the directory of the end; nil for that of the root directory
	name string   // of the end in dir, which is no link
	end  *os.File // nil if it is not there
}

func (p place) close() {
	_, _ = p.dir.Close(), p.end.Close() // places only; nil is no file
}

// judge says what is wrong with a place on a path; top is the owner of the root directory.
type judge func(f *os.File, info fs.FileInfo, top int) error

// walk opens a path, a name at a time. wrong is what it said first on the way. Where only
// the end is not there, at has its directory.
func walk(path string, is judge) (at place, wrong, err error) {
	var way []*os.File
	defer func() {
		for _, f := range way {
			if f != at.end && f != at.dir {
				_ = f.Close() // it is a place only
			}
		}
		if err != nil {
			err = &fs.PathError{Op: "open", Path: path, Err: bare(err)}
		}
	}()
	rest, err := absolute(path)
	if err != nil {
		return place{}, nil, err
	}
	root, top, err := step(nil, "/", false)
	if err != nil {
		return place{}, nil, err
	}
	way = append(way, root)
	at.end = root
	for links := 0; rest != ""; {
		var next string
		var directory bool // a slash follows
		if next, rest, directory = strings.Cut(rest, "/"); next == "" || next == "." {
			continue
		}
		f, info, err := step(at.end, next, directory)
		if err != nil {
			if !directory && errors.Is(err, fs.ErrNotExist) {
				return place{dir: at.end, name: next}, wrong, err
			}
			return place{}, wrong, err
		}
		way = append(way, f)
		if wrong == nil {
			wrong = is(f, info, owner(top))
		}
		if info.Mode().Type() != fs.ModeSymlink {
			if directory && !info.IsDir() {
				return place{}, wrong, syscall.ENOTDIR
			}
			at = place{dir: at.end, name: next, end: f}
			continue
		}
		to, err := kernel.ReadLinkAt(int(f.Fd()), "")
		if links++; links > maxLinks || ofAProcess(at.end, next) {
			err = errLinks
		}
		if err != nil {
			return place{}, wrong, err
		}
		if strings.HasPrefix(to, "/") {
			at = place{end: root}
		}
		if directory {
			to += "/" + rest
		}
		rest = to
	}
	return at, wrong, nil
}

// ofAProcess reports whether a link leads through what a process has open, as those of
// /proc/PID/fd do.
func ofAProcess(at *os.File, name string) bool {
	f, err := resolved(int(at.Fd()), name, name, kernel.OpenPath, 0, kernel.NoMagicLinks)
	if err == nil {
		_ = f.Close() // it is a place only
	}
	return errors.Is(err, errLinks)
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

// changeable says why others than root can change what an open place is or holds. In a user
// namespace the root directory and what is above the user's own belong to the same stranger,
// whom nothing there can keep out. In a directory such as /tmp only what is root's itself is safe.
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

// OwnPipe reports whether a path is of a pipe that this process was started with, which
// Steering reads to its end.
func OwnPipe(path string) bool {
	pipe := ownPipe(path)
	_ = pipe.Close() // nothing was read from it; nil is no file
	return pipe != nil
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
