package bpf

import (
	"bytes"
	"errors"
	"structs"
	"time"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// WakesPairs is room for the pairs of a busy machine, 2 MB for each of two tables.
const WakesPairs = 16384

// WakeTask is one end of a wakeup.
type WakeTask struct {
	TID, TGID kernel.TID
	Comm      string
	// CPU is where the waker was at the last wakeup, or where the wakee last ran
	// before it.
	CPU cpuset.CPU
}

// WakeCount is how often one thread woke another.
type WakeCount struct {
	Waker WakeTask // TID 0: interrupts; CPU is that of the last one
	Wakee WakeTask
	Count uint64
}

// WakesStats is what a drain tells besides counts.
type WakesStats struct {
	Window time.Duration // since the last drain
	Lost   uint64        // wakeups that were not counted: there were too many pairs
}

// Wakes counts which thread wakes which, from when it is opened. It costs about a
// tenth of a microsecond for each wakeup of the machine, and less for each
// interrupt: keep it open only while someone looks. Safe for concurrent use.
//
// A wakeup by an interrupt handler, a timer or a softirq has no waker, but for a
// softirq of the network in which a task receives what it has sent to this
// machine itself. What inter-processor interrupts wake is counted for the task
// they interrupt. A task that ends its own sleep wakes nobody. Wakeups by a task
// that the kernel hides are not seen (HidesTasks).
type Wakes struct {
	object.Object
	targets object.TargetSet
	drained time.Duration // when; CLOCK_MONOTONIC
	keys    []wakeKey
	values  []wakeValue
}

type wakeKey struct { // struct wake_key of c/wakes.c
	_            structs.HostLayout
	Waker, Wakee kernel.TID
}

type wakeValue struct { // struct wake of c/wakes.c
	_                    structs.HostLayout
	Count                uint64
	WakerTGID, WakeeTGID kernel.TID
	WakerCPU, WakeeCPU   uint16
	_                    uint32
	WakerComm, WakeeComm [16]byte
}

// OpenWakes begins to count, with room for so many pairs between two drains: those
// of the ids, as SetTargets takes them, or all without. An error that Is
// feature.ErrNotSupported says what is missing.
func OpenWakes(pairs int, ids ...kernel.TID) (*Wakes, error) {
	w := &Wakes{keys: make([]wakeKey, object.DrainChunk), values: make([]wakeValue, object.DrainChunk)}
	// What tells interrupts comes first: without it they would count as tasks.
	s := object.Subject{What: "task wakeups", Compiled: wakesObject, Room: pairs, Programs: []string{"wakes_irq_done", "wakes_irq",
		"wakes_tmr_done", "wakes_timer", "wakes_soft_done", "wakes_softirq", "wakes_raise", "count_wake"}}
	return opened(w, w.Open(s, func() error {
		w.targets.Entries = w.Objects.Maps["targets"]
		w.drained = kernel.Monotonic()
		return w.setTargets(ids)
	}))
}

// SetTargets counts only wakeups by and of these tasks from now on: each id stands
// for the thread, or for all threads of the process, present and future. Without
// ids it counts all. Of tasks that stay targets no wakeup is missed.
func (w *Wakes) SetTargets(ids ...kernel.TID) error {
	return w.Use(func() error { return w.setTargets(ids) })
}

func (w *Wakes) setTargets(ids []kernel.TID) error {
	filtered, only := w.Objects.Variables["filtered"], w.Objects.Variables["only"]
	if len(ids) == 0 {
		return errors.Join(filtered.Set(uint32(0)), w.targets.Set(nil))
	}
	if err := w.targets.Set(ids); err != nil {
		return err
	}
	return errors.Join(only.Set(uint32(w.targets.Only())), filtered.Set(uint32(1)))
}

// Drain appends what was counted since the last drain, in no order, and begins
// anew. No wakeup is missed or counted twice; it sleeps for some milliseconds to
// be sure of that.
func (w *Wakes) Drain(into []WakeCount) (counts []WakeCount, stats WakesStats, err error) {
	counts = into
	err = w.Use(func() error {
		now := kernel.Monotonic()
		table, err := w.Tables.Exchange()
		if err != nil {
			return err
		}
		stats.Window, w.drained = now-w.drained, now
		err = object.Drain(table, w.keys, w.values, func(k wakeKey, v wakeValue) {
			counts = append(counts, WakeCount{
				Waker: WakeTask{k.Waker, v.WakerTGID, comm(v.WakerComm), cpuset.CPU(v.WakerCPU)},
				Wakee: WakeTask{k.Wakee, v.WakeeTGID, comm(v.WakeeComm), cpuset.CPU(v.WakeeCPU)},
				Count: v.Count,
			})
		})
		if err != nil {
			return err
		}
		// The kernel leaves out runs where the program was running on that CPU already.
		runs, err := w.Objects.Programs["count_wake"].Stats() // 0 before Linux 5.12
		if err == nil {
			stats.Lost, err = w.LostSince("lost", runs.RecursionMisses)
		}
		return err
	})
	return counts, stats, err
}

// comm is a name as the kernel keeps it.
func comm(name [16]byte) string { return untilNUL(name[:]) }

func untilNUL(text []byte) string {
	before, _, _ := bytes.Cut(text, []byte{0})
	return string(before)
}
