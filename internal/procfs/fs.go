// Package procfs reads the files of /proc, one source file here for each file
// there, below a root path. Read methods touch the system; Parse functions take
// the bytes, so that a recorded file reads as a live one does.
//
// It keeps no state between calls and computes nothing. Start at FS; Reader is
// its sibling without allocations, for the scan of internal/sample.
package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// ErrGone is what errors about a task that has ended are (errors.Is): between
// listing and reading, tasks vanish.
var ErrGone = errors.New("the process has ended")

// FS is the /proc below a root path.
type FS struct {
	root string
	live bool
}

// New returns the FS of a root: "/" or "" for this machine, else the top of a
// recorded host tree or of a container's view of its host.
func New(root string) FS {
	if root == "" {
		root = "/"
	}
	root = filepath.Clean(root)
	return FS{root: root, live: root == "/"}
}

// Live reports whether the FS is this machine's own. On any other root a task
// number says nothing about the tasks of this machine, and no system call may
// be made about it.
func (f FS) Live() bool { return f.live }

// OwnNumbers reports whether the numbers in this /proc are those that this
// process's system calls use: it is this machine's, and not mounted from another
// PID namespace (pid_namespaces(7)).
func (f FS) OwnNumbers() bool {
	if !f.live {
		return false
	}
	self, err := kernel.ReadLink(f.Path("self"))
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// Root is the path that New was given, cleaned.
func (f FS) Root() string { return f.root }

// Path returns the path of a file below the root's /proc.
func (f FS) Path(elem ...string) string {
	return filepath.Join(append([]string{f.root, "proc"}, elem...)...)
}

// File returns the content of a file below the root's /proc.
func (f FS) File(elem ...string) ([]byte, error) {
	path := f.Path(elem...)
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// taskDir is the directory of a process (pid alone), or of one of its threads.
// A thread has a directory of its own in /proc too, hidden from listing, but
// several files in it speak of the whole process, and recorded trees lack it.
func (f FS) taskDir(pid, tid kernel.TID) string {
	if tid == 0 {
		return f.Path(number(pid))
	}
	return f.Path(number(pid), "task", number(tid))
}

// task reads a file of a process or thread.
func (f FS) task(pid, tid kernel.TID, name string) ([]byte, error) {
	return f.taskBy(readOnce, pid, tid, name)
}

func (f FS) taskBy(read func(path string) ([]byte, error), pid, tid kernel.TID, name string) ([]byte, error) {
	dir := f.taskDir(pid, tid)
	data, err := read(dir + "/" + name)
	if err != nil {
		return nil, taskError(dir, name, err)
	}
	return data, nil
}

// taskError tells a task that has ended from a file that its kernel does not have. A file that was
// not there and is now belongs to a later task, which has got the number since.
func taskError(dir, name string, err error) error {
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.ENOENT) && (!exists(dir) || exists(dir+"/"+name)) {
		return fmt.Errorf("read %s/%s: %w", dir, name, ErrGone)
	}
	return fmt.Errorf("read %s/%s: %w", dir, name, err)
}

func exists(path string) bool {
	_, err := kernel.FileOwner(kernel.NoDir, append([]byte(path), 0))
	return err == nil
}

func number(tid kernel.TID) string { return strconv.Itoa(int(tid)) }

var buffers = sync.Pool{New: func() any { b := make([]byte, 8192); return &b }}

// MaxFile is the size in bytes up to which files are read. The largest of /proc are maps of
// processes with a million mappings, and interrupts of machines with thousands of CPUs.
const MaxFile = 64 << 20

// errTooLarge is for made-up trees, and links to devices that never end.
var errTooLarge = fmt.Errorf("it is larger than %d MiB, and is not read", MaxFile>>20)

// ReadFile returns the content of a regular file of /proc, /sys or a tree of them.
func ReadFile(path string) ([]byte, error) {
	b, err := readFile(path)
	if err != nil {
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return b, err
}

// Text returns the content of a small file without blanks around it, and whether it could be read.
func Text(path string) (text string, ok bool) {
	b, err := readFile(path)
	return strings.Trim(string(b), cpuset.Blank), err == nil
}

// Number reads a file that holds a number.
func Number(path string) (n int, ok bool) {
	text, _ := Text(path)
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// CPUs reads a file that holds a cpulist.
func CPUs(path string) (set cpuset.Set, ok bool) {
	text, ok := Text(path)
	set, err := cpuset.Parse(text)
	return set, ok && err == nil
}

// readFile returns the whole content of a file in a slice of its own.
func readFile(path string) ([]byte, error) {
	fd, err := kernel.OpenFile(kernel.NoDir, append([]byte(path), 0))
	if err != nil {
		return nil, err
	}
	return readAndClose(fd)
}

func readAndClose(fd int) ([]byte, error) {
	defer kernel.CloseFile(fd)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	n, err := readAll(fd, buf)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), (*buf)[:n]...), nil
}

// readOnce returns the content of a file that the kernel writes anew, as a whole,
// for each read: asking for the end of it would have it written once more.
func readOnce(path string) ([]byte, error) {
	fd, err := kernel.OpenFile(kernel.NoDir, append([]byte(path), 0))
	if err != nil {
		return nil, err
	}
	defer kernel.CloseFile(fd)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		n, err := kernel.ReadFileAt(fd, *buf, 0)
		switch {
		case err != nil:
			return nil, err
		case n < len(*buf):
			return append([]byte(nil), (*buf)[:n]...), nil
		case n >= MaxFile:
			return nil, errTooLarge
		}
		*buf = make([]byte, 2*len(*buf))
	}
}

// readAll reads an open file from its start to its end into *buf, which grows as needed.
func readAll(fd int, buf *[]byte) (int, error) {
	for n := 0; ; {
		if n == len(*buf) {
			if n >= MaxFile {
				*buf = make([]byte, readerBuffer)
				return 0, errTooLarge
			}
			*buf = append(*buf, make([]byte, len(*buf))...)
		}
		got, err := kernel.ReadFileAt(fd, (*buf)[n:], int64(n))
		if got <= 0 || err != nil {
			return n, err
		}
		n += got
	}
}
