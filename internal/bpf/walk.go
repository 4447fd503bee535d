package bpf

import (
	"slices"
	"structs"

	"github.com/cilium/ebpf"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

const walkName = "task walk"

// Rung is a way of walking.
type Rung string

// The rungs of the walk, best first.
const (
	RungArray Rung = "ebpf, task iterator"  // Linux 6.7: one run fills mapped memory, 0.1 µs a task
	RungSeq   Rung = "ebpf, iter/task file" // Linux 5.8: records are read from a file, 0.4 µs a task
)

// WalkOptions choose how to walk. The zero value takes the best rung.
type WalkOptions struct {
	Rung Rung // only this one; "" for the best that works
}

// Walk reads all tasks of the machine in one pass inside the kernel. It is
// loaded once and read as often as wanted, by one goroutine at a time.
type Walk struct {
	rung    walkRung // nil once closed
	name    Rung
	common  *walkCommon
	refused error
}

// walkRung is one way to get records. read returns those of a pass, as Walk.Read
// does, and leaves its findings in the state.
type walkRung interface {
	read(threads bool) ([]Record, error)
	recordsBytes() int
	close()
}

// OpenWalk loads the walk. An error that Is
// feature.ErrNotSupported says what is missing.
func OpenWalk(o WalkOptions) (*Walk, error) {
	return object.Privileged(func() (*Walk, error) { return openWalk(o) })
}

func openWalk(o WalkOptions) (*Walk, error) {
	if err := object.Usable(walkName); err != nil {
		return nil, err
	}
	if !kernel.InitialNamespace("time") {
		return nil, &object.Refusal{What: walkName, Why: "inside a time namespace the kernel's start times are not the ones of /proc", Need: "to run in the initial time namespace"}
	}
	var refused error
	if o.Rung != RungSeq {
		w, err := openArrayWalk()
		if err == nil || o.Rung == RungArray {
			return w, err
		}
		refused = err
	}
	w, err := openSeqWalk()
	if err != nil {
		return nil, err
	}
	w.refused = refused
	return w, nil
}

// Rung says which way of walking is in use.
func (w *Walk) Rung() Rung { return w.name }

// Refused is why a better rung is not in use, nil if there is none or it was
// not asked for.
func (w *Walk) Refused() error { return w.refused }

// Read walks once: it returns a record for every process or, with threads, for
// every thread. They are in the kernel's order, and in memory that is shared with
// it: they are gone with the next Read, and with Close. What ended or began
// meanwhile may or may not be among them.
func (w *Walk) Read(threads bool) (records []Record, stats WalkStats, err error) {
	err = kernel.WithBPF(func() error {
		records, stats, err = w.read(threads)
		return err
	})
	return records, stats, err
}

func (w *Walk) read(threads bool) ([]Record, WalkStats, error) {
	if w.rung == nil {
		return nil, WalkStats{}, object.ErrClosed
	}
	if err := w.common.masks.makeRoom(); err != nil {
		return nil, WalkStats{}, object.Explain(walkName, err)
	}
	records, err := w.rung.read(threads)
	if err != nil {
		return nil, WalkStats{}, object.Explain(walkName, err)
	}
	stats, err := w.common.stats()
	stats.RecordsBytes = w.rung.recordsBytes()
	return records, stats, object.Explain(walkName, err)
}

// Close removes the walk from the kernel.
func (w *Walk) Close() {
	if w.rung != nil {
		w.rung.close()
		w.rung = nil
	}
}

// walkState is what program and reader share (struct walk_state of c/record.h,
// without its scratch space at the end).
type walkState struct {
	_                                             structs.HostLayout
	threads, capacity, pass, masks                uint32
	written, truncated, tasks, maskOverflow, have uint32
	leader, leaderTID, lastMask                   uint32
	lastHash                                      uint64
}

// walkCommon is what both rungs have beside their records.
type walkCommon struct {
	memory *ebpf.Memory // of the state
	state  walkState
	cpus   *ebpf.Memory
	buffer []cpuRecord
	masks  *maskTable
}

// prepareWalk fits the tables of an object to the machine.
func prepareWalk(spec *ebpf.CollectionSpec) error {
	cpus, err := object.PossibleCPUs(walkName)
	if err != nil {
		return err
	}
	words := uint32(cpus+63) / 64
	spec.Maps["cpus"].MaxEntries = uint32(cpus)
	spec.Maps["masks"].ValueSize = 8 * words
	return spec.Variables["mask_words"].Set(words)
}

// newWalkCommon maps the tables that both objects have under the same names.
func newWalkCommon(c *ebpf.Collection) (*walkCommon, error) {
	w := &walkCommon{buffer: make([]cpuRecord, c.Maps["cpus"].MaxEntries())}
	var err error
	if w.memory, err = c.Maps["state"].Memory(); err != nil {
		return nil, err
	}
	if w.cpus, err = c.Maps["cpus"].Memory(); err != nil {
		return nil, err
	}
	w.masks, err = newMaskTable(c.Maps["masks"], c.Maps["mask_rows"])
	return w, err
}

// begin writes the inputs of a pass.
func (w *walkCommon) begin(threads bool, capacity uint32) error {
	w.state = walkState{capacity: capacity, pass: w.state.pass + 1, masks: w.masks.used, lastMask: NoMask}
	if threads {
		w.state.threads = 1
	}
	_, err := w.memory.WriteAt(object.BytesOf(&w.state), 0)
	return err
}

// end reads the findings of a pass.
func (w *walkCommon) end() error {
	_, err := w.memory.ReadAt(object.BytesOf(&w.state), 0)
	return err
}

func (w *walkCommon) stats() (WalkStats, error) {
	if _, err := w.cpus.ReadAt(object.BytesOfAll(w.buffer), 0); err != nil {
		return WalkStats{}, err
	}
	masks, err := w.masks.sets(w.state.masks)
	return WalkStats{
		Have:      Have(w.state.have),
		Tasks:     int(w.state.tasks),
		Truncated: int(w.state.truncated),
		NoMasks:   int(w.state.maskOverflow),
		RunQueues: runQueues(make([]RunQueue, 0, len(w.buffer)), w.buffer, w.state.pass),
		Masks:     masks,
	}, err
}

// HidesTasks reports whether this machine's kernel hides tasks from eBPF, as
// some hypervisors' kernels hide their agent, process 1. No program runs while
// such a task is current: one on sched_switch sees an agent come and never go.
// So moves that are made meanwhile, by the load balancer for one, are told by
// se.nr_migrations only.
func HidesTasks() (bool, error) {
	w, err := OpenWalk(WalkOptions{})
	if err != nil {
		return false, err
	}
	defer w.Close()
	records, _, err := w.Read(false)
	return !slices.ContainsFunc(records, func(r Record) bool { return r.TID == 1 }), err
}
