package procfs

import (
	"bytes"
	"strings"

	"piton/internal/kernel"
)

// Cmdline reads /proc/PID/cmdline: the arguments; none for kernel threads and
// zombies. They may hold any byte but NUL.
func (f FS) Cmdline(pid kernel.TID) ([]string, error) {
	b, err := f.task(pid, 0, "cmdline")
	if err != nil {
		return nil, err
	}
	return ParseCmdline(b), nil
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
