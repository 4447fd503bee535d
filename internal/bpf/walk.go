package bpf

import (
	"cmp"
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
	RungArray Rung = "ebpf, mapped memory"  // Linux 6.2: runs of 50 µs fill mapped memory
	RungSeq   Rung = "ebpf, iter/task file" // Linux 5.8: records are read from a file, at twice the time
)

// WalkOptions choose how to walk. The zero value takes the best rung.
type WalkOptions struct {
	Rung Rung // only this one; "" for the best that works

	briefly bool // runs of RungArray end at once, after some tasks: for tests
}

// Walk reads all tasks of the machine inside the kernel. It is loaded once and read
// as often as wanted, by one goroutine at a time. No pass keeps its CPU to itself for
// long: one rung ends a run after 50 µs and goes on in the next, the other lets the
// kernel reschedule after each task.
type Walk struct {
	rung    walkRung // nil once closed
	name    Rung
	common  *walkCommon
	refused error
}

// walkRung is one way to get records. read returns those of a pass, as Walk.Read
// does but without the processes' sums, and leaves its findings in the state.
type walkRung interface {
	read(all bool) ([]Record, []Thread, error)
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
		w, err := openArrayWalk(o.briefly)
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

// Read walks once: it returns a record for every process, and the other threads beside
// them, or with all a record for every thread, and no threads. Both are in rising order
// of TID, and in memory that the next Read changes, and Close takes away. A task that
// lives through the walk is there once; one that ended or began meanwhile may be there.
func (w *Walk) Read(all bool) (records []Record, threads []Thread, stats WalkStats, err error) {
	err = kernel.WithBPF(func() error {
		records, threads, stats, err = w.read(all)
		return err
	})
	return records, threads, stats, err
}

func (w *Walk) read(all bool) ([]Record, []Thread, WalkStats, error) {
	if w.rung == nil {
		return nil, nil, WalkStats{}, object.ErrClosed
	}
	if err := w.common.masks.makeRoom(); err != nil {
		return nil, nil, WalkStats{}, object.Explain(walkName, err)
	}
	records, threads, err := w.rung.read(all)
	if err != nil {
		return nil, nil, WalkStats{}, object.Explain(walkName, err)
	}
	sumProcesses(records, threads)
	stats, err := w.common.stats()
	stats.RecordsBytes = w.rung.recordsBytes()
	return records, threads, stats, object.Explain(walkName, err)
}

// FindRecord is the index of a process or thread among records, -1 if it is not there.
// near is where it may be.
func FindRecord(records []Record, tid kernel.TID, near int) int {
	if near >= 0 && near < len(records) && records[near].TID == tid {
		return near
	}
	i, found := slices.BinarySearchFunc(records, tid, func(r Record, tid kernel.TID) int { return cmp.Compare(r.TID, tid) })
	if !found {
		return -1
	}
	return i
}

// sumProcesses adds each thread to its process.
func sumProcesses(records []Record, threads []Thread) {
	leader := -1
	add := func(t *Thread) {
		if leader = FindRecord(records, t.TGID, leader); leader >= 0 {
			records[leader].add(t)
		}
	}
	for i := range threads {
		add(&threads[i])
	}
	for i := range records {
		if r := &records[i]; !r.IsProcess() {
			add(&r.Thread)
		}
	}
}

// add adds a thread to its process.
func (r *Record) add(t *Thread) {
	r.UserNs += t.UserNs
	r.SystemNs += t.SystemNs
	r.CPUNs += t.RunNs
	r.MinorFaults += t.MinorFaults
	r.MajorFaults += t.MajorFaults
	r.Migrations += t.Migrations
	r.VoluntarySwitches += t.VoluntarySwitches
	r.InvoluntarySwitches += t.InvoluntarySwitches
	r.Load += t.Load
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
	_                            structs.HostLayout
	all, pass, next, done, masks uint32
	records, threads             uint32
	lostRecords, lostThreads     uint32
	tasks, maskOverflow, have    uint32
	lastMask, _                  uint32
	lastHash                     uint64
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
func (w *walkCommon) begin(all bool) error {
	w.state = walkState{pass: w.state.pass + 1, masks: w.masks.used, lastMask: NoMask}
	if all {
		w.state.all = 1
	}
	_, err := w.memory.WriteAt(object.BytesOf(&w.state), 0)
	return err
}

// end reads the findings.
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
		Truncated: int(w.state.lostRecords + w.state.lostThreads),
		NoMasks:   int(w.state.maskOverflow),
		RunQueues: runQueues(make([]RunQueue, 0, len(w.buffer)), w.buffer, w.state.pass),
		Masks:     masks,
	}, err
}

// HidesTasks reports whether this machine's kernel hides tasks from eBPF, as
// some hypervisors' kernels hide their agent, process 1. No program runs while
// such a task is current: one on sched_switch sees an agent come and never go.
// So moves that are made meanwhile, by the load balancer for one, are told by
// se.nr_migrations only. The kernel's own iterators leave such a task out, too.
func HidesTasks() (bool, error) {
	w, err := OpenWalk(WalkOptions{Rung: RungSeq})
	if err != nil {
		return false, err
	}
	defer w.Close()
	records, _, _, err := w.Read(false)
	return FindRecord(records, 1, 0) < 0, err
}
