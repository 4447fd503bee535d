// Package bpf sees what only the kernel sees, through eBPF programs that run in
// it: all tasks of the machine in one pass (Walk), every migration (Migrations
// counts them, Moves reports them one by one), who had each CPU for how long
// (Ledger), which thread wakes which (Wakes), what processes do (Work), and which
// begin, execute and end (ProcEvents). It decides nothing and computes no rates, but
// for Aggregate: a scheduler for tasks that ask for it, while it is open.
//
// Each subject is an object of its own that is loaded when it is opened and
// leaves nothing in the kernel after Close. Opening needs CAP_BPF and
// CAP_PERFMON (or root) and /sys/kernel/btf/vmlinux; where it cannot work the
// error Is feature.ErrNotSupported and says in a sentence what is missing.
//
// The programs are in c/, compiled by generate.sh; users need no compiler.
// Start at OpenWalk.
package bpf

import (
	"fmt"
	"sync"
	"unsafe"
	"weak"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"piton/internal/kernel"
)

//go:generate ./generate.sh

// recent is the decoded layout of the kernel's types, which takes 20 ms to make
// and some megabytes to keep: subjects opened in a row share it, then the
// garbage collector takes it.
var recent struct {
	sync.Mutex
	types weak.Pointer[btf.Cache]
}

func kernelTypes() *btf.Cache {
	recent.Lock()
	defer recent.Unlock()
	types := recent.types.Value()
	if types == nil {
		types = btf.NewCache()
		recent.types = weak.Make(types)
	}
	return types
}

// privileged runs f with the rights that bpf(2) takes, where this process has to
// raise them. Before Linux 5.19 maps take them too.
func privileged[T any](f func() (T, error)) (result T, err error) {
	err = kernel.WithBPF(func() error {
		result, err = f()
		return err
	})
	return result, err
}

// load puts an object into the kernel.
func load(what string, spec *ebpf.CollectionSpec) (*ebpf.Collection, error) {
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Cache: kernelTypes()})
	if err != nil {
		return nil, explain(what, err)
	}
	return c, nil
}

// attach hooks the named programs of an object to the tracepoints that their
// sections name. Closing the links unhooks them.
func attach(what string, c *ebpf.Collection, names ...string) (links, error) {
	var all links
	for _, name := range names {
		l, err := link.AttachTracing(link.TracingOptions{Program: c.Programs[name]})
		if err != nil {
			all.close()
			return nil, explain(what, fmt.Errorf("attach %s: %w", name, err))
		}
		all = append(all, l)
	}
	return all, nil
}

type links []link.Link

func (l links) close() {
	for _, one := range l {
		one.Close()
	}
}

// possibleCPUs returns the number that is above every CPU number the kernel
// may ever use, its nr_cpu_ids.
func possibleCPUs(what string) (int, error) {
	n, err := ebpf.PossibleCPU()
	if err != nil {
		return 0, fmt.Errorf("%s by eBPF: %w", what, err)
	}
	return n, nil
}

// bytesOf lets mapped memory be copied to and from a Go value that has the
// layout of the C structure (structs.HostLayout, no pointers).
func bytesOf[T any](p *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

// bytesOfAll is bytesOf for the elements of a slice.
func bytesOfAll[T any](s []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(one))
}
