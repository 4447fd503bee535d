package kernel

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"piton/internal/cpuset"
)

// MemPolicy is where the calling thread's new pages come from, a mode of
// set_mempolicy(2).
type MemPolicy uint8

// The modes, with the kernel's numbers.
const (
	MemDefault    MemPolicy = unix.MPOL_DEFAULT
	MemPreferred  MemPolicy = unix.MPOL_PREFERRED // one node first, the others if it is full
	MemBind       MemPolicy = unix.MPOL_BIND      // these nodes and no others
	MemInterleave MemPolicy = unix.MPOL_INTERLEAVE
)

// nodeMask is a set of nodes as the calls of NUMA want it, and how many bits it
// has plus one: the kernel takes one off (get_nodes in mm/mempolicy.c).
func nodeMask(nodes cpuset.Set) (mask []uint64, maxnode uintptr) {
	mask = nodes.Words()
	return mask, uintptr(len(mask)*64 + 1)
}

// SetMemPolicy sets the calling thread's policy for new pages; it passes through
// fork(2) and execve(2). EINVAL: no such node, or none with memory in the cpuset.
func SetMemPolicy(mode MemPolicy, nodes cpuset.Set) error {
	var pointer unsafe.Pointer
	var maxnode uintptr
	if !nodes.Empty() {
		var mask []uint64
		mask, maxnode = nodeMask(nodes)
		pointer = unsafe.Pointer(unsafe.SliceData(mask))
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SET_MEMPOLICY, uintptr(mode), uintptr(pointer), maxnode); errno != 0 {
		return fmt.Errorf("set_mempolicy to nodes %s: %w", nodes, errno)
	}
	return nil
}

// migratePages moves the process's pages on nodes of from to those of to, sets of
// node numbers, and returns how many could not be moved (migrate_pages(2)).
// ENOSYS: a kernel without CONFIG_NUMA.
func migratePages(pid TID, from, to cpuset.Set) (int, error) {
	all, maxnode := nodeMask(from.Or(to)) // both masks have its length
	old, fresh := make([]uint64, len(all)), make([]uint64, len(all))
	copy(old, from.Words())
	copy(fresh, to.Words())
	var left uintptr
	err := privileged(func() error {
		var errno syscall.Errno
		left, _, errno = unix.Syscall6(unix.SYS_MIGRATE_PAGES, uintptr(pid), maxnode,
			uintptr(unsafe.Pointer(unsafe.SliceData(old))), uintptr(unsafe.Pointer(unsafe.SliceData(fresh))), 0, 0)
		return errnoError(errno)
	}, CapSysNice, CapSysPtrace)
	if err != nil {
		return 0, fmt.Errorf("migrate_pages of %d from nodes %s to %s: %w", pid, from, to, err)
	}
	return int(left), nil
}

// movePages moves the pages at addrs to a node each, or with nil nodes moves none,
// and returns the node that each is on, or a negative errno for it (move_pages(2)).
// Those that other processes use too are moved with CAP_SYS_NICE only.
func movePages(pid TID, addrs []uint64, nodes []int32) ([]int32, error) {
	status := make([]int32, len(addrs))
	if len(addrs) == 0 {
		return status, nil
	}
	call := func(flags uintptr) error {
		return privileged(func() error {
			_, _, errno := unix.Syscall6(unix.SYS_MOVE_PAGES, uintptr(pid), uintptr(len(addrs)),
				uintptr(unsafe.Pointer(unsafe.SliceData(addrs))), uintptr(unsafe.Pointer(unsafe.SliceData(nodes))),
				uintptr(unsafe.Pointer(unsafe.SliceData(status))), flags)
			return errnoError(errno)
		}, CapSysNice, CapSysPtrace)
	}
	err := call(unix.MPOL_MF_MOVE_ALL)
	if errors.Is(err, unix.EPERM) {
		err = call(unix.MPOL_MF_MOVE)
	}
	if err != nil {
		return nil, fmt.Errorf("move_pages of %d: %w", pid, err)
	}
	return status, nil
}
