// Package taskfacts reads what is asked about one process now and then: its
// program, directory, open files, sockets and I/O counters. It is dear (a system call
// for each open file), so it is for commands beside the screen, never for samples.
//
// What may not be read says why. Start at Read.
package taskfacts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"syscall"

	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// Facts is what was read of one process.
type Facts struct {
	PID     kernel.TID
	Exe     Known[string] // path of the program; " (deleted)" at its end when it was replaced
	Cwd     Known[string]
	IO      Known[IO]
	Files   Known[[]File] // by descriptor
	Sockets Known[[]Socket]
	// NoCPU is why sockets' IncomingCPU is not known, "" when it was read.
	NoCPU string
}

// Known is a value, or the reason why there is none.
type Known[T any] struct {
	Value T
	Why   string // "" when there is a value
}

// IO is /proc/PID/io (proc_pid_io(5)), in bytes since the process began.
type IO struct {
	Read, Written         uint64 // by read(2), write(2) and the like
	DiskRead, DiskWritten uint64 // that storage had to serve
}

// File is an open descriptor.
type File struct {
	FD   int
	Path string // as the kernel names it: "socket:[123]", "pipe:[7]", "/tmp/a (deleted)"
}

// Socket is an open socket.
type Socket struct {
	FD            int
	Kind          string // "tcp", "udp6", "unix"
	Local, Remote string // address and port, or path; "" when there is none
	State         string // of TCP, "ESTABLISHED"; "" of others
	IncomingCPU   int    // that the last packet came in on; -1 when none came, or it is not known
}

// Rights that reading another user's process needs (proc(5), ptrace(2)).
const (
	needsTrace = "needs CAP_SYS_PTRACE"
	needsRead  = "needs CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH"
)

// Read reads the facts of a process below a root, "/" for this machine.
func Read(ctx context.Context, root string, pid kernel.TID) Facts {
	proc := procfs.New(root)
	at := func(name string) string { return proc.Path(strconv.Itoa(int(pid)), name) }
	f := Facts{PID: pid}
	exe, err := kernel.ReadLink(at("exe"))
	f.Exe = known(exe, err, needsTrace)
	cwd, err := kernel.ReadLink(at("cwd"))
	f.Cwd = known(cwd, err, needsTrace)
	io, err := readIO(at("io"))
	f.IO = known(io, err, needsRead)
	files, err := openFiles(at("fd"))
	f.Files = known(files, err, needsRead)
	f.readSockets(ctx, proc.Live())
	return f
}

func readIO(path string) (io IO, err error) {
	text, err := procfs.ReadFile(path)
	if err != nil {
		return io, err
	}
	var calls, disk bool
	io.Read, io.Written, calls = procfs.ParseIO(text, procfs.CallBytes)
	io.DiskRead, io.DiskWritten, disk = procfs.ParseIO(text, procfs.DiskBytes)
	if !calls || !disk {
		return io, fmt.Errorf("%s: a line is missing or malformed", path)
	}
	return io, nil
}

// openFiles lists the open files, in order. One that was closed meanwhile is left out.
func openFiles(dir string) ([]File, error) {
	names, err := tree.Names(dir)
	files := make([]File, 0, len(names))
	for _, name := range names {
		fd, notFD := strconv.Atoi(name)
		path, linkErr := kernel.ReadLink(dir + "/" + name)
		if notFD == nil && linkErr == nil {
			files = append(files, File{FD: fd, Path: path})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.FD, b.FD) })
	return files, err
}

// known is a value, or in words why it could not be read.
func known[T any](value T, err error, needs string) Known[T] {
	switch {
	case err == nil:
		return Known[T]{Value: value}
	case errors.Is(err, fs.ErrPermission):
		return Known[T]{Why: needs}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return Known[T]{Why: "none: a kernel thread, or the process has ended"}
	}
	return Known[T]{Why: "not readable: " + err.Error()}
}
