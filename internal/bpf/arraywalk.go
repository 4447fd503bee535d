package bpf

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

// iteratorStart is the kernel function that the array walk begins with.
const iteratorStart = "bpf_iter_task_new"

// firstRecords is the room of the first pass; it tells how much is needed.
const firstRecords = 1024

// arrayWalk runs a program that leaves its records in mapped memory.
type arrayWalk struct {
	*walkCommon
	objects *ebpf.Collection
	layout  *ebpf.MapSpec // of a table of records
	table   *ebpf.Map
	mapped  []byte   // the table
	records []Record // the same
}

func openArrayWalk() (*Walk, error) {
	types := object.KernelTypes() // held, so that load finds it too
	layout, err := types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("%s by eBPF: read %s: %w", walkName, object.BTFFile, err)
	}
	var start *btf.Func
	if layout.TypeByName(iteratorStart, &start) != nil {
		return nil, &object.Refusal{What: walkName, Why: "the task iterator came with Linux 6.7, this is " + object.Release(), Need: "Linux 6.7"}
	}
	spec, err := loadWalk()
	if err != nil {
		return nil, err
	}
	if err := prepareWalk(spec); err != nil {
		return nil, err
	}
	objects, err := object.Load(walkName, spec)
	runtime.KeepAlive(types)
	if err != nil {
		return nil, err
	}
	a := &arrayWalk{objects: objects, layout: spec.Maps[walkMapTables].InnerMap}
	if a.walkCommon, err = newWalkCommon(objects); err == nil {
		err = a.grow(firstRecords)
	}
	if err != nil {
		a.close()
		return nil, object.Explain(walkName, err)
	}
	return &Walk{rung: a, name: RungArray, common: a.walkCommon}, nil
}

// grow exchanges the table of records for one with more room.
func (a *arrayWalk) grow(capacity int) error {
	layout := a.layout.Copy()
	layout.MaxEntries = uint32(capacity)
	table, err := ebpf.NewMap(layout)
	if err != nil {
		return err
	}
	mapped, err := kernel.MapForReading(table.FD(), capacity*recordBytes)
	if err == nil {
		err = a.objects.Maps[walkMapTables].Put(uint32(0), table)
	}
	if err != nil {
		drop(table, mapped)
		return err
	}
	drop(a.table, a.mapped)
	a.table, a.mapped = table, mapped
	a.records = unsafe.Slice((*Record)(unsafe.Pointer(unsafe.SliceData(mapped))), capacity)
	return nil
}

// drop gives a table back, if there is one.
func drop(table *ebpf.Map, mapped []byte) {
	if mapped != nil {
		_ = kernel.Unmap(mapped)
	}
	if table != nil {
		table.Close()
	}
}

// read runs the program, again with more room if the room was too small. Should
// there be no memory for more, the records that fitted are the result.
func (a *arrayWalk) read(threads bool) ([]Record, error) {
	for {
		if err := a.begin(threads, uint32(len(a.records))); err != nil {
			return nil, err
		}
		result, err := a.objects.Programs[walkProgWalk].Run(&ebpf.RunOptions{})
		if err != nil {
			return nil, err
		}
		if result != 0 {
			return nil, fmt.Errorf("the program found no table")
		}
		if err := a.end(); err != nil {
			return nil, err
		}
		needed := int(a.state.written + a.state.truncated)
		if a.state.truncated == 0 || a.grow(needed+needed/4+firstRecords) != nil {
			return a.records[:a.state.written], nil
		}
		a.masks.used = a.state.masks
	}
}

func (a *arrayWalk) recordsBytes() int { return len(a.mapped) }

func (a *arrayWalk) close() {
	a.objects.Close()
	drop(a.table, a.mapped)
	a.table, a.mapped, a.records = nil, nil, nil
}
