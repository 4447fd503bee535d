package procfs

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"piton/internal/kernel"
	"piton/internal/kernel/tree"
)

// readerBuffer holds any file that Reader reads: a stat or schedstat file is
// below 1 KiB, a sched file below 8; for a longer command line it grows (Reader.Cmdline).
const readerBuffer = 16 << 10

// Reader reads the files of many tasks into one buffer, with one call each and
// no allocation. It holds the root's /proc open, so that names stay short. Its
// errors are bare: a syscall.Errno, see Gone. It is for one goroutine.
type Reader struct {
	fs              FS
	dir             int // for listing
	below           int // what names are below, and prefix them with base
	base            []byte
	path, buf, host []byte
}

// NewReader opens the FS's /proc.
func (f FS) NewReader() (*Reader, error) {
	dir, err := kernel.OpenDir(kernel.NoDir, append([]byte(f.Path()), 0))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path(), err)
	}
	r := &Reader{fs: f, dir: dir, below: dir, path: make([]byte, 0, 64), buf: make([]byte, readerBuffer), host: make([]byte, readerBuffer)}
	if tree.Of(kernel.NoDir, []byte(f.Path())) != nil { // links are resolved from its top
		r.below, r.base = kernel.NoDir, []byte(f.Path()+"/")
	}
	return r, nil
}

// Clone returns a Reader of the same /proc, for another goroutine.
func (r *Reader) Clone() (*Reader, error) { return r.fs.NewReader() }

// Close closes the directory.
func (r *Reader) Close() error { return kernel.CloseFile(r.dir) }

// Gone reports whether an error of Reader means that the task has ended, for
// files that every task has.
func Gone(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH)
}

// Task returns the content of a task's file, valid until the next call; with
// tid 0, of the process's. It asks once: the kernel writes these files whole
// into a buffer that has room for them.
func (r *Reader) Task(pid, tid kernel.TID, name string) ([]byte, error) {
	fd, err := r.Open(pid, tid, name)
	if err != nil {
		return nil, err
	}
	b, err := r.Read(fd)
	_ = kernel.CloseFile(fd) // read only: nothing can be lost
	return b, err
}

// Open opens a task's file for Read; the caller closes it (kernel.CloseFile).
// An open file of a task never turns into one of another task with its number:
// reading it then gives ESRCH.
func (r *Reader) Open(pid, tid kernel.TID, name string) (int, error) {
	return kernel.OpenFile(r.below, r.taskPath(pid, tid, name))
}

// Read returns the present content of an open file, valid until the next call.
func (r *Reader) Read(fd int) ([]byte, error) {
	n, err := kernel.ReadFileAt(fd, r.buf, 0)
	if err != nil {
		return nil, err
	}
	return r.buf[:n], nil
}

// Host returns the content of a file of the whole machine, such as "stat",
// valid until the next call of Host.
func (r *Reader) Host(name string) ([]byte, error) {
	fd, err := kernel.OpenFile(r.below, append(append(append(r.path[:0], r.base...), name...), 0))
	if err != nil {
		return nil, err
	}
	n, err := readAll(fd, &r.host)
	_ = kernel.CloseFile(fd)
	return r.host[:n], err
}

// Owner returns the effective user id of a process, the owner of its directory.
func (r *Reader) Owner(pid, tid kernel.TID) (uint32, error) {
	return kernel.FileOwner(r.below, r.taskPath(pid, tid, ""))
}

func (r *Reader) taskPath(pid, tid kernel.TID, name string) []byte {
	p := strconv.AppendInt(append(r.path[:0], r.base...), int64(pid), 10)
	if tid != 0 {
		p = append(p, "/task/"...)
		p = strconv.AppendInt(p, int64(tid), 10)
	}
	if name != "" {
		p = append(p, '/')
		p = append(p, name...)
	}
	p = append(p, 0)
	r.path = p
	return p
}

// Threads appends the threads of a process to tids, in the kernel's order,
// which is that of their birth.
func (r *Reader) Threads(pid kernel.TID, tids []kernel.TID) ([]kernel.TID, error) {
	fd, err := kernel.OpenDir(r.below, r.taskPath(pid, 0, "task"))
	if err != nil {
		return tids, err
	}
	tids, err = r.list(fd, tids, nil)
	_ = kernel.CloseFile(fd)
	return tids, err
}

// Processes appends the numbers of /proc from a directory position on, 0 for
// all; see ParseDir for offsets.
func (r *Reader) Processes(from int64, tids []kernel.TID, offsets *[]int64) ([]kernel.TID, error) {
	if err := kernel.SeekDir(r.dir, from); err != nil {
		return tids, err
	}
	return r.list(r.dir, tids, offsets)
}

func (r *Reader) list(fd int, tids []kernel.TID, offsets *[]int64) ([]kernel.TID, error) {
	for {
		n, err := kernel.ReadDir(fd, r.buf)
		if n <= 0 || err != nil {
			return tids, err
		}
		if tids, err = ParseDir(r.buf[:n], tids, offsets); err != nil {
			return tids, err
		}
	}
}
