// Package taskfacts reads what is asked about one process now and then: its
// program, directory, open files, sockets and I/O counters. It reads through
// gopsutil and is dear (a system call for each open file), so it is for commands
// beside the screen, never for samples.
//
// What may not be read says why. Start at Read.
package taskfacts

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/process"

	"piton/internal/kernel"
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
	ctx = context.WithValue(ctx, common.EnvKey, common.EnvMap{common.HostProcEnvKey: filepath.Join(root, "proc")})
	p := &process.Process{Pid: int32(pid)}
	f := Facts{PID: pid}
	exe, err := p.ExeWithContext(ctx)
	f.Exe = known(exe, err, needsTrace)
	cwd, err := p.CwdWithContext(ctx)
	f.Cwd = known(cwd, err, needsTrace)
	f.IO = readIO(ctx, p)
	files, err := p.OpenFilesWithContext(ctx)
	list := make([]File, 0, len(files))
	for _, o := range files {
		list = append(list, File{FD: int(o.Fd), Path: o.Path})
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.FD, b.FD) })
	f.Files = known(list, err, needsRead)
	f.readSockets(ctx, p, root == "/")
	return f
}

func readIO(ctx context.Context, p *process.Process) Known[IO] {
	c, err := p.IOCountersWithContext(ctx)
	if err != nil {
		return known(IO{}, err, needsRead)
	}
	return Known[IO]{Value: IO{Read: c.ReadBytes, Written: c.WriteBytes, DiskRead: c.DiskReadBytes, DiskWritten: c.DiskWriteBytes}}
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
