package procfs

import (
	"bytes"
	"strings"

	"piton/internal/kernel"
)

// MaxCmdline is how much of a command line is read, in bytes: as much as one argument may
// have (MAX_ARG_STRLEN, execve(2)). All of them may have 6 MiB, and any user can start
// such a process. A longer one ends in "…".
const MaxCmdline = 128 << 10

func cutCmdline(b []byte) []byte {
	if len(b) <= MaxCmdline {
		return b
	}
	return append(b[:MaxCmdline], "…"...)
}

// Cmdline reads /proc/PID/cmdline: the arguments; none for kernel threads and
// zombies. They may hold any byte but NUL.
func (f FS) Cmdline(pid kernel.TID) ([]string, error) {
	b, err := f.task(pid, 0, "cmdline")
	if err != nil {
		return nil, err
	}
	return ParseCmdline(cutCmdline(b)), nil
}

// Cmdline returns the content of /proc/PID/cmdline, valid until the next call. One read is
// enough for most.
func (r *Reader) Cmdline(pid kernel.TID) ([]byte, error) {
	fd, err := r.Open(pid, 0, "cmdline")
	if err != nil {
		return nil, err
	}
	defer kernel.CloseFile(fd)
	for n := 0; ; {
		got, err := kernel.ReadFileAt(fd, r.buf[n:], int64(n))
		if err != nil {
			return nil, err
		}
		if n += got; n < len(r.buf) || n > MaxCmdline {
			return cutCmdline(r.buf[:n]), nil
		}
		r.buf = append(r.buf, make([]byte, MaxCmdline+1-n)...)
	}
}

// ParseCmdline splits a cmdline file. A process may overwrite its arguments
// with a title (setproctitle), whose padding of NULs and spaces is dropped.
func ParseCmdline(b []byte) []string {
	b = bytes.TrimRight(b, "\x00 ")
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

// Exe reads the link /proc/PID/exe, the path of the program. Without
// CAP_SYS_PTRACE it is EACCES for others' processes, and kernel threads have
// none (ENOENT).
func (f FS) Exe(pid kernel.TID) (string, error) {
	dir := f.taskDir(pid, 0)
	read := kernel.Executable
	if !f.live {
		read = func(kernel.TID) (string, error) { return kernel.ReadLink(dir + "/exe") }
	}
	exe, err := read(pid)
	if err != nil {
		return "", taskError(dir, "exe", err)
	}
	return exe, nil
}

// Environ reads /proc/PID/environ: NAME=value as the process was started with.
// It is EACCES for others' processes: its mode is 0400, so that CAP_SYS_PTRACE is not
// enough (proc_pid_environ(5)).
func (f FS) Environ(pid kernel.TID) ([]string, error) {
	b, err := f.task(pid, 0, "environ")
	if err != nil {
		return nil, err
	}
	return ParseCmdline(b), nil
}
