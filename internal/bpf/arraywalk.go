package bpf

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

// firstRoom is how many entries there is room for in the first pass; it tells how many
// are needed.
const firstRoom = 1024

// arrayWalk runs a program that leaves its records in mapped memory.
type arrayWalk struct {
	*walkCommon
	objects *ebpf.Collection
	records table[Record]
	threads table[Thread]
	runs    int // of the last pass
}

// table is an array of entries that a program fills.
type table[T any] struct {
	slot    *ebpf.Map     // where the program looks for it
	layout  *ebpf.MapSpec // but for the number of entries
	array   *ebpf.Map
	mapped  []byte
	entries []T // the same
}

func openArrayWalk(briefly bool) (*Walk, error) {
	types := object.KernelTypes() // held, so that load finds it too
	layout, err := types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("%s by eBPF: read %s: %w", walkName, object.BTFFile, err)
	}
	var cast *btf.Func
	if layout.TypeByName("bpf_rdonly_cast", &cast) != nil {
		return nil, &object.Refusal{What: walkName, Why: "bpf_rdonly_cast came with Linux 6.2, this is " + object.Release(), Need: "Linux 6.2"}
	}
	spec, err := object.Spec(walkObject)
	if err != nil {
		return nil, err
	}
	if err := prepareWalk(spec); err != nil {
		return nil, err
	}
	if briefly {
		if err := spec.Variables["run_ns"].Set(uint32(0)); err != nil {
			return nil, err
		}
	}
	objects, err := object.Load(walkName, spec)
	runtime.KeepAlive(types)
	if err != nil {
		return nil, err
	}
	a := &arrayWalk{
		objects: objects,
		records: table[Record]{slot: objects.Maps["record_tables"], layout: spec.Maps["record_tables"].InnerMap},
		threads: table[Thread]{slot: objects.Maps["thread_tables"], layout: spec.Maps["thread_tables"].InnerMap},
	}
	if a.walkCommon, err = newWalkCommon(objects); err == nil {
		err = a.records.grow(firstRoom)
	}
	if err == nil {
		err = a.threads.grow(firstRoom)
	}
	if err != nil {
		a.close()
		return nil, object.Explain(walkName, err)
	}
	return &Walk{rung: a, name: RungArray, common: a.walkCommon}, nil
}

// grow exchanges the array for one with more room.
func (t *table[T]) grow(capacity int) error {
	layout := t.layout.Copy()
	layout.MaxEntries = uint32(capacity)
	array, err := ebpf.NewMap(layout)
	if err != nil {
		return err
	}
	next := table[T]{slot: t.slot, layout: t.layout, array: array}
	next.mapped, err = kernel.MapMemory(array.FD(), capacity*int(layout.ValueSize))
	if err == nil {
		err = t.slot.Put(uint32(0), array)
	}
	if err != nil {
		next.close()
		return err
	}
	next.entries = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(next.mapped))), capacity)
	t.close()
	*t = next
	return nil
}

// fit makes room for what found none, and some more.
func (t *table[T]) fit(lost uint32) error {
	if lost == 0 {
		return nil
	}
	return t.grow((len(t.entries)+int(lost))*5/4 + firstRoom)
}

func (t *table[T]) close() {
	if t.mapped != nil {
		_ = kernel.Unmap(t.mapped)
	}
	if t.array != nil {
		t.array.Close()
	}
	t.array, t.mapped, t.entries = nil, nil, nil
}

// read walks, again with more room if the room was too small. Should there be no
// memory for more, what fits is the result.
func (a *arrayWalk) read(all bool) ([]Record, []Thread, error) {
	for full := false; ; {
		if err := a.pass(all); err != nil {
			return nil, nil, err
		}
		if full || a.state.lostRecords+a.state.lostThreads == 0 {
			return a.records.entries[:a.state.records], a.threads.entries[:a.state.threads], nil
		}
		full = errors.Join(a.records.fit(a.state.lostRecords), a.threads.fit(a.state.lostThreads)) != nil
		a.masks.used = a.state.masks
	}
}

// pass visits all tasks, in as many runs as it takes.
func (a *arrayWalk) pass(all bool) error {
	if err := a.begin(all); err != nil {
		return err
	}
	for a.runs = 0; a.state.done == 0; a.runs++ {
		if _, err := a.objects.Programs["walk"].Run(&ebpf.RunOptions{}); err != nil {
			return err
		}
		if err := a.end(); err != nil {
			return err
		}
	}
	return nil
}

func (a *arrayWalk) recordsBytes() int { return len(a.records.mapped) + len(a.threads.mapped) }

func (a *arrayWalk) close() {
	a.objects.Close()
	a.records.close()
	a.threads.close()
}
