package kernel

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"piton/internal/kernel/tree"
)

// The functions of this file read files without os.File: a scan of /proc opens
// and reads thousands of them a second, and the poller, the finalizer and the
// copied name of each os.File would cost more than the kernel's part. They
// allocate nothing. Errors are the bare syscall.Errno: the caller knows the
// name, and on a scan most of them only mean that a task is gone.

// NoDir as a directory means that a path is absolute or below the working directory.
const NoDir = unix.AT_FDCWD

// OpenFile opens a file for reading below the open directory dir, close-on-exec. The
// path ends in a NUL byte. It does not wait for a writer if the file is a FIFO, which a tree
// that somebody made up may have; reading that is ESPIPE. It is ELOOP when a magic link is part of it, which leads
// to what a process has open, past the permissions of the way there (openat2(2)).
// An absolute path below a confined tree is resolved inside of it (tree.Confine).
func OpenFile(dir int, path []byte) (int, error) {
	return openAt(dir, path, &openFile)
}

// OpenDir opens a directory for ReadDir and for opening files below it. The
// path ends in a NUL byte, and magic links are as for OpenFile.
func OpenDir(dir int, path []byte) (int, error) {
	return openAt(dir, path, &openDir)
}

// How openAt opens. They are variables so that their addresses cost no allocation.
var (
	openFile = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	openDir  = unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: unix.RESOLVE_NO_MAGICLINKS}
)

func openAt(dir int, path []byte, how *unix.OpenHow) (int, error) {
	if t := tree.Of(dir, path); t != nil {
		return t.Open(path, how.Flags)
	}
	name := unsafe.Pointer(unsafe.SliceData(path))
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(name), uintptr(unsafe.Pointer(how)), unsafe.Sizeof(*how), 0, 0)
	if errno == unix.ENOSYS || errno == unix.EPERM { // Linux before 5.6, or a seccomp filter
		fd, _, errno = unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(name), uintptr(how.Flags), 0, 0, 0)
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Resolve says which links a path may lead through (openat2(2)).
type Resolve uint64

// The ways to follow a path. Magic links are those below /proc/PID that lead to
// what another process has open, past the permissions of the path to it.
const (
	NoMagicLinks Resolve = unix.RESOLVE_NO_MAGICLINKS
	NoLinks      Resolve = unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS
)

// OpenPath is the flag that opens a file as a place only: its contents and its
// driver are not touched (O_PATH of open(2)).
const OpenPath = unix.O_PATH

// OpenResolved opens a file below the open directory dir, close-on-exec. A link
// that how forbids is ELOOP. Where openat2(2) is missing (Linux before 5.6) or
// forbidden (seccomp), NoLinks still holds of a path of a single name, and
// NoMagicLinks of none.
func OpenResolved(dir int, path string, flags int, mode uint32, how Resolve) (int, error) {
	flags |= unix.O_CLOEXEC
	open := unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: uint64(how)}
	fd, err := unix.Openat2(dir, path, &open)
	if err != unix.ENOSYS && err != unix.EPERM {
		return fd, err
	}
	if how == NoLinks {
		flags |= unix.O_NOFOLLOW
	}
	return unix.Openat(dir, path, flags, mode)
}

// ReadFileAt reads from an open file at an offset (pread(2)). Files of /proc
// are written anew by the kernel at offset 0.
func ReadFileAt(fd int, buf []byte, offset int64) (int, error) {
	return unix.Pread(fd, buf, offset)
}

// CloseFile closes a descriptor.
func CloseFile(fd int) error { return unix.Close(fd) }

// ReadDir reads the next entries of an open directory, struct linux_dirent64 of
// getdents64(2); 0 bytes is the end.
func ReadDir(fd int, buf []byte) (int, error) { return unix.Getdents(fd, buf) }

// SeekDir moves an open directory to a position that an earlier entry's d_off
// gave, or to 0, the start.
func SeekDir(fd int, offset int64) error {
	_, err := unix.Seek(fd, offset, unix.SEEK_SET)
	return err
}

// FileOwner returns the user id that owns a file (statx(2)). The path ends in a
// NUL byte. For the directory /proc/PID it is the process's effective user,
// even for processes that may not be dumped (proc(5)).
func FileOwner(dir int, path []byte) (uint32, error) {
	if t := tree.Of(dir, path); t != nil {
		info, err := t.Stat(path)
		if err != nil {
			return 0, err
		}
		return info.Sys().(*syscall.Stat_t).Uid, nil
	}
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(dir),
		uintptr(unsafe.Pointer(unsafe.SliceData(path))),
		unix.AT_STATX_DONT_SYNC, unix.STATX_UID, uintptr(unsafe.Pointer(&st)), 0)
	if errno != 0 {
		return 0, errno
	}
	return st.Uid, nil
}

// Reserve makes sure that a write to these bytes of a file finds room on its disk. The
// file's size stays (fallocate(2), FALLOC_FL_KEEP_SIZE).
func Reserve(fd int, offset, size int64) error {
	return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, offset, size)
}

// ReadLink returns what a symbolic link points to (readlink(2)).
func ReadLink(path string) (string, error) {
	if t := tree.Of(NoDir, []byte(path)); t != nil {
		return t.ReadLink([]byte(path))
	}
	return ReadLinkAt(NoDir, path)
}

// ReadLinkAt is ReadLink below the open directory dir, or, for "", of the link that is
// open as dir with OpenPath.
func ReadLinkAt(dir int, path string) (string, error) {
	buf := make([]byte, 4096) // PATH_MAX
	n, err := unix.Readlinkat(dir, path, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// Executable returns the path of a process's program, the link /proc/PID/exe. It takes
// the right to trace the process: it is the caller's own, or CAP_SYS_PTRACE (EACCES).
func Executable(pid TID) (path string, err error) {
	err = privileged(func() error {
		path, err = ReadLink(fmt.Sprintf("/proc/%d/exe", pid))
		return err
	}, CapSysPtrace)
	return path, err
}

// OpenTraced opens a file of a process for reading, /proc/PID/name, as Executable does:
// the kernel asks for the right to trace the process when the file is opened. The name is
// one that the caller knows, and no user's.
func OpenTraced(pid TID, name string) (fd int, err error) {
	err = privileged(func() error {
		fd, err = OpenFile(NoDir, fmt.Appendf(nil, "/proc/%d/%s\x00", pid, name))
		return err
	}, CapSysPtrace)
	return fd, err
}

// MaxFiles returns how many descriptors the process may have open
// (RLIMIT_NOFILE, getrlimit(2)); the Go runtime has raised it to the hard limit.
func MaxFiles() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("RLIMIT_NOFILE: %w", err)
	}
	return limit.Cur, nil
}

// Inode returns the inode number of a file, links followed: of a link below
// /proc/PID/ns it names the namespace (namespaces(7)).
func Inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, fmt.Errorf("stat %s: %w", path, err)
	}
	return st.Ino, nil
}
