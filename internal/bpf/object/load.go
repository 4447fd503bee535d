package object

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"piton/internal/kernel"
)

// recent is the decoded layout of the kernel's types, which takes 20 ms to make
// and some megabytes to keep: subjects opened in a row share it, then the
// garbage collector takes it.
var recent struct {
	sync.Mutex
	types weak.Pointer[btf.Cache]
}

// KernelTypes is the decoded layout, as long as the caller keeps it (runtime.KeepAlive).
func KernelTypes() *btf.Cache {
	recent.Lock()
	defer recent.Unlock()
	types := recent.types.Value()
	if types == nil {
		types = btf.NewCache()
		recent.types = weak.Make(types)
	}
	return types
}

// Privileged runs f with the rights that bpf(2) takes, where this process has to
// raise them. Before Linux 5.19 maps take them too.
func Privileged[T any](f func() (T, error)) (result T, err error) {
	err = kernel.WithBPF(func() error {
		result, err = f()
		return err
	})
	return result, err
}

// Spec reads a compiled object.
func Spec(compiled []byte) (*ebpf.CollectionSpec, error) {
	return ebpf.LoadCollectionSpecFromReader(bytes.NewReader(compiled))
}

// Load puts an object into the kernel.
func Load(what string, spec *ebpf.CollectionSpec) (*ebpf.Collection, error) {
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Cache: KernelTypes()})
	if err != nil {
		return nil, Explain(what, err)
	}
	return c, nil
}

// HasTracepoint reports whether the running kernel has a tracepoint that programs can be
// attached to.
func HasTracepoint(what, name string) (bool, error) {
	types := KernelTypes() // held, so that Load finds it too
	defer runtime.KeepAlive(types)
	layout, err := types.Kernel()
	if err != nil {
		return false, fmt.Errorf("%s by eBPF: read %s: %w", what, BTFFile, err)
	}
	var function *btf.Typedef
	return layout.TypeByName("btf_trace_"+name, &function) == nil, nil
}

// Attach hooks the named programs of an object to the tracepoints that their
// sections name. Closing the links unhooks them.
func Attach(what string, c *ebpf.Collection, names ...string) (Links, error) {
	var all Links
	for _, name := range names {
		l, err := link.AttachTracing(link.TracingOptions{Program: c.Programs[name]})
		if err != nil {
			all.Close()
			return nil, Explain(what, fmt.Errorf("attach %s: %w", name, err))
		}
		all = append(all, l)
	}
	return all, nil
}

// Links hook programs to the kernel.
type Links []link.Link

// Close unhooks all.
func (l Links) Close() {
	for _, one := range l {
		one.Close()
	}
}

// PossibleCPUs returns the number that is above every CPU number the kernel
// may ever use, its nr_cpu_ids.
func PossibleCPUs(what string) (int, error) {
	n, err := ebpf.PossibleCPU()
	if err != nil {
		return 0, fmt.Errorf("%s by eBPF: %w", what, err)
	}
	return n, nil
}

// BytesOf lets mapped memory be copied to and from a Go value that has the
// layout of the C structure (structs.HostLayout, no pointers).
func BytesOf[T any](p *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

// BytesOfAll is BytesOf for the elements of a slice.
func BytesOfAll[T any](s []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(len(s))*unsafe.Sizeof(one))
}
