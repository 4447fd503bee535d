package bpf

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// iteratorStart is the kernel function that the array walk begins with.
const iteratorStart = "bpf_iter_task_new"

// firstRecords is the room of the first pass; it tells how much is needed.
const firstRecords = 1024

// arrayWalk runs a program that leaves its records in mapped memory.
type arrayWalk struct {
	*walkCommon
	objects  *ebpf.Collection
	layout   *ebpf.MapSpec // of a table of records
	table    *ebpf.Map
	records  *ebpf.Memory
	capacity uint32
}

func openArrayWalk() (*Walk, error) {
	types := kernelTypes() // held, so that load finds it too
	layout, err := types.Kernel()
	if err != nil {
		return nil, fmt.Errorf("%s by eBPF: read %s: %w", walkName, btfFile, err)
	}
	var start *btf.Func
	if layout.TypeByName(iteratorStart, &start) != nil {
		return nil, &Refusal{walkName, "the task iterator came with Linux 6.7, this is " + release(), "Linux 6.7"}
	}
	spec, err := loadWalk()
	if err != nil {
		return nil, err
	}
	if err := prepareWalk(spec); err != nil {
		return nil, err
	}
	objects, err := load(walkName, spec)
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
		return nil, explain(walkName, err)
	}
	return &Walk{rung: a, name: RungArray, common: a.walkCommon}, nil
}

// grow exchanges the table of records for one with more room.
func (a *arrayWalk) grow(capacity uint32) error {
	layout := a.layout.Copy()
	layout.MaxEntries = capacity
	table, err := ebpf.NewMap(layout)
	if err != nil {
		return err
	}
	records, err := table.Memory()
	if err == nil {
		err = a.objects.Maps[walkMapTables].Put(uint32(0), table)
	}
	if err != nil {
		table.Close()
		return err
	}
	if a.table != nil {
		a.table.Close()
	}
	a.table, a.records, a.capacity = table, records, capacity
	return nil
}

// read runs the program, again with more room if the room was too small. Should
// there be no memory for more, the records that fitted are the result.
func (a *arrayWalk) read(into []Record, threads bool) ([]Record, error) {
	for {
		if err := a.begin(threads, a.capacity); err != nil {
			return into, err
		}
		result, err := a.objects.Programs[walkProgWalk].Run(&ebpf.RunOptions{})
		if err != nil {
			return into, err
		}
		if result != 0 {
			return into, fmt.Errorf("the program found no table")
		}
		if err := a.end(); err != nil {
			return into, err
		}
		needed := a.state.written + a.state.truncated
		if a.state.truncated == 0 || a.grow(needed+needed/4+firstRecords) != nil {
			break
		}
		a.masks.used = a.state.masks
	}
	n := int(a.state.written)
	into = slices.Grow(into, n)[:n]
	_, err := a.records.ReadAt(bytesOfAll(into), 0)
	if n == 0 {
		err = nil // nothing to read is an error to ReadAt
	}
	return into, err
}

func (a *arrayWalk) recordsBytes() int { return int(a.capacity) * int(a.layout.ValueSize) }

func (a *arrayWalk) close() {
	a.objects.Close()
	if a.table != nil {
		a.table.Close()
	}
}
