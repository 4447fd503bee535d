// Package netns makes network namespaces of piton's own, the wires between them and the
// connections over these, and reads interfaces in any. Start at New.
package netns

import (
	"cmp"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"piton/internal/kernel"
)

// Namespace is a network namespace without a name (network_namespaces(7)). It lives as
// long as something holds it, which are this descriptor and the sockets that were made in
// it: nothing of it is left when the processes that have them end, however that happens.
type Namespace struct {
	file  *os.File
	sysfs int // a mount of sysfs that shows it, attached nowhere
}

// New makes one. It takes CAP_SYS_ADMIN (EPERM).
func New() (*Namespace, error) {
	n := &Namespace{sysfs: -1}
	err := kernel.OnThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", os.NewSyscallError("unshare", err))
		}
		if n.file, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		n.sysfs, err = mountSysfs()
		return err
	})
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// mountSysfs mounts sysfs without a place in the tree of files. It shows the network
// interfaces of the calling thread's namespace (sysfs_init_fs_context in fs/sysfs/mount.c).
func mountSysfs() (int, error) {
	fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen of sysfs", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, os.NewSyscallError("fsconfig of sysfs", err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("fsmount of sysfs", err)
	}
	return mount, nil
}

// Do works on a thread of its own that is in the namespace, and ends with the work.
func (n *Namespace) Do(work func() error) error {
	return kernel.OnThread(func() error { return enter(n.file, work) })
}

// enter works in a network namespace, where the calling thread stays.
func enter(namespace *os.File, work func() error) error {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter a network namespace: %w", os.NewSyscallError("setns", err))
	}
	return work()
}

// WriteSetting writes a file below /sys/class/net as the namespace has it, such as
// "eth0/queues/rx-0/rps_cpus". It is not journalled: the interface ends with the namespace.
func (n *Namespace) WriteSetting(name, text string) error {
	// The links of /sys/class/net stay below the mount; nothing else does.
	how := unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	fd, err := unix.Openat2(n.sysfs, "class/net/"+name, &how)
	if err != nil {
		return fmt.Errorf("open %s of a network namespace: %w", name, err)
	}
	_, err = unix.Write(fd, []byte(text))
	if err = cmp.Or(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("write %q to %s of a network namespace: %w", text, name, err)
	}
	return nil
}

// Close ends the namespace, unless sockets or processes are in it.
func (n *Namespace) Close() {
	if n.file != nil {
		_ = n.file.Close()
	}
	if n.sysfs >= 0 {
		_ = unix.Close(n.sysfs)
		n.sysfs = -1
	}
}
