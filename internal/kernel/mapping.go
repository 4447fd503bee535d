package kernel

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mapper hands out anonymous memory of this process outside the Go heap.
type Mapper interface {
	// Map returns zeroed memory of which nothing is touched yet, so that its pages
	// come from the node of who touches them first, or from node if that is not
	// negative (MPOL_BIND of mbind(2)). It begins at a huge page and has huge
	// pages where the kernel can give any.
	//
	// EINVAL: there is no such node, or the cpuset does not permit its memory.
	// ENOSYS: a kernel without CONFIG_NUMA, asked for a node. ENOMEM: no room.
	Map(bytes, node int) ([]byte, error)
	// Unmap gives back what Map returned, all of it.
	Unmap(memory []byte) error
}

// Mappings returns the Mapper of the running kernel.
func Mappings() Mapper { return mappings{} }

type mappings struct{}

// hugePage is what Map aligns to: the size on amd64, and on arm64 with pages of
// 4 KiB.
const hugePage = 2 << 20

func (mappings) Map(bytes, node int) ([]byte, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("mmap %d bytes: %w", bytes, unix.EINVAL)
	}
	size := (uintptr(bytes) + hugePage - 1) &^ (hugePage - 1)
	start, err := unix.MmapPtr(-1, 0, nil, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mmap %d bytes: %w", size, err)
	}
	skip := -uintptr(start) & (hugePage - 1)
	p := unsafe.Add(start, skip)
	err = errors.Join(unmap(start, skip), unmap(unsafe.Add(p, size), hugePage-skip))
	memory := unsafe.Slice((*byte)(p), size)[:bytes]
	if err == nil && node >= 0 {
		err = bind(p, size, node)
	}
	if err != nil {
		return nil, errors.Join(err, unmap(p, size))
	}
	// EINVAL: a kernel without huge pages; the memory is as good with small ones.
	_ = unix.Madvise(unsafe.Slice((*byte)(p), size), unix.MADV_HUGEPAGE)
	return memory, nil
}

// bind lets pages come from one node only.
func bind(p unsafe.Pointer, size uintptr, node int) error {
	mask := make([]uint64, node/64+1)
	mask[node/64] = 1 << (node % 64)
	// The kernel takes one off the number of bits (get_nodes in mm/mempolicy.c).
	bits := uintptr(len(mask)*64 + 1)
	_, _, errno := unix.Syscall6(unix.SYS_MBIND, uintptr(p), size, unix.MPOL_BIND, uintptr(unsafe.Pointer(&mask[0])), bits, 0)
	if errno != 0 {
		return fmt.Errorf("mbind %d bytes to node %d: %w", size, node, errno)
	}
	return nil
}

func unmap(p unsafe.Pointer, size uintptr) error {
	if size == 0 {
		return nil
	}
	if err := unix.MunmapPtr(p, size); err != nil {
		return fmt.Errorf("munmap %d bytes: %w", size, err)
	}
	return nil
}

func (mappings) Unmap(memory []byte) error {
	size := (uintptr(cap(memory)) + hugePage - 1) &^ (hugePage - 1)
	return unmap(unsafe.Pointer(unsafe.SliceData(memory)), size)
}
