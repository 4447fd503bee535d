package bpf

import (
	"io"
	"structs"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Kind is what a RunInterval was of.
type Kind uint16

// The kinds.
const (
	KindTask Kind = iota
	KindIRQ
	KindSoftIRQ
)

// String is the word that screens and JSON use.
func (k Kind) String() string { return [...]string{"task", "irq", "softirq"}[k] }

// RunInterval is the time that one task, interrupt or softirq had on one CPU.
//
// A task's time is without the device interrupts and softirqs that came
// meanwhile, and a softirq's without the interrupts. On PREEMPT_RT a softirq's
// time includes what preempted it.
type RunInterval struct {
	CPU  cpuset.CPU
	Kind Kind
	ID   uint32     // tid, interrupt number or softirq vector; task 0 is idle
	TGID kernel.TID // of a task
	Comm string     // of a task; "" if it did not leave the CPU in the window, so it lives
	OnNs uint64
	// WaitNs is how long a task was runnable here before it came on, each time.
	WaitNs    uint64
	LongestNs uint64 // one interval, from before the window too, interrupts included
	Count     uint32 // run intervals that ended: switches away, interrupts handled
}

// LedgerStats is what a drain tells besides run intervals.
type LedgerStats struct {
	Window time.Duration // since the last drain
	Lost   uint64        // run intervals that had no room in the table
	LostNs uint64        // and their time
}

// Ledger writes down who has each CPU, from when it is opened. It costs about a
// tenth of a microsecond for each context switch of the machine: keep it open
// only while someone looks. Safe for concurrent use.
type Ledger struct {
	object.Object
	cpus    *ebpf.Memory
	now     []cpuNow
	settled time.Duration // when; CLOCK_MONOTONIC
	lostNs  uint64        // at the last drain
	keys    []runKey
	values  []intervalValue
}

type runKey struct { // struct stay_key of c/ledger.c
	_    structs.HostLayout
	ID   uint32
	CPU  uint16
	Kind Kind
}

type intervalValue struct { // struct stay of c/ledger.c
	_                     structs.HostLayout
	Ns, WaitNs, LongestNs uint64
	Count                 uint32
	TGID                  kernel.TID
	Comm                  [16]byte
}

// OpenLedger begins to write. An error that Is
// feature.ErrNotSupported says what is missing.
func OpenLedger() (*Ledger, error) {
	l := &Ledger{keys: make([]runKey, object.DrainChunk), values: make([]intervalValue, object.DrainChunk)}
	s := object.Subject{What: "CPU ledger", Compiled: ledgerObject}
	return opened(l, l.Open(s, l.begin))
}

func (l *Ledger) begin() (err error) {
	if l.cpus, err = l.Objects.Maps["cpus"].Memory(); err != nil {
		return err
	}
	l.settled = kernel.Monotonic()
	l.now = make([]cpuNow, l.Objects.Maps["cpus"].MaxEntries())
	for i := range l.now {
		l.now[i].fromNs, l.now[i].sinceNs = uint64(l.settled), uint64(l.settled)
	}
	if _, err := l.cpus.WriteAt(object.BytesOfAll(l.now), 0); err != nil {
		return err
	}
	l.Links, err = object.Attach(l.What, l.Objects, "on_switch", "on_irq", "on_irq_done", "on_softirq", "on_softirq_done")
	if err != nil {
		return err
	}
	return l.seed()
}

// seed lets the program find who is on the CPUs already.
func (l *Ledger) seed() error {
	iterator, err := link.AttachIter(link.IterOptions{Program: l.Objects.Programs["seed"]})
	if err != nil {
		return err
	}
	defer iterator.Close()
	file, err := iterator.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(io.Discard, file)
	return err
}

// Drain appends who had the CPUs since the last drain, in no order, those who
// have them now included. It sleeps for some milliseconds, for running programs
// to end.
func (l *Ledger) Drain(into []RunInterval) (intervals []RunInterval, stats LedgerStats, err error) {
	intervals = into
	err = l.Use(func() error {
		window, err := l.settle()
		if err != nil {
			return err
		}
		table, err := l.Tables.Exchange()
		if err != nil {
			return err
		}
		err = object.Drain(table, l.keys, l.values, func(k runKey, v intervalValue) {
			intervals = append(intervals, v.interval(k))
		})
		if err != nil {
			return err
		}
		intervals = addPresent(intervals, len(into), l.now)
		stats.Window = window
		if stats.Lost, err = l.LostSince("lost", 0); err != nil {
			return err
		}
		var lostNs uint64
		err = l.Objects.Variables["lost_ns"].Get(&lostNs)
		stats.LostNs, l.lostNs = lostNs-l.lostNs, lostNs
		return err
	})
	return intervals, stats, err
}

// settle ends the window: the program accounts the run intervals that go on up to now.
func (l *Ledger) settle() (window time.Duration, err error) {
	now := kernel.Monotonic()
	if _, err := l.Objects.Programs["settle"].Run(&ebpf.RunOptions{Context: uint64(now)}); err != nil {
		return 0, err
	}
	window, l.settled = now-l.settled, now
	_, err = l.cpus.ReadAt(object.BytesOfAll(l.now), 0)
	return window, err
}

func (v *intervalValue) interval(k runKey) RunInterval {
	return RunInterval{
		CPU: cpuset.CPU(k.CPU), Kind: k.Kind, ID: k.ID, TGID: v.TGID, Comm: comm(v.Comm),
		OnNs: v.Ns, WaitNs: v.WaitNs, LongestNs: v.LongestNs, Count: v.Count,
	}
}

// cpuNow is what a CPU does at present (struct cpu_now of c/ledger.c).
type cpuNow struct {
	_                         structs.HostLayout
	fromNs, sinceNs, delayNs  uint64
	interruptsNs, intrAt      uint64
	irqSince, irqsNs          uint64
	softirqSince, softirqIrqs uint64
	tid, tgid                 kernel.TID
	known                     uint32
	_                         uint32
	partNs, partLongestNs     uint64
	partTID, partTGID         kernel.TID
}

// addPresent adds what the programs found of the run intervals that go on to those
// from first on. A CPU that is idle and was never seen otherwise may be
// offline, and is left out.
func addPresent(intervals []RunInterval, first int, now []cpuNow) []RunInterval {
	added := make([]bool, len(now))
	for i := first; i < len(intervals); i++ {
		s := &intervals[i]
		if int(s.CPU) >= len(now) || s.Kind != KindTask || s.ID != uint32(now[s.CPU].partTID) {
			continue
		}
		s.OnNs += now[s.CPU].partNs
		s.LongestNs = max(s.LongestNs, now[s.CPU].partLongestNs)
		added[s.CPU] = true
	}
	for cpu := range now {
		n := &now[cpu]
		if added[cpu] || n.partNs == 0 || n.known == 0 && n.partTID == 0 {
			continue
		}
		intervals = append(intervals, RunInterval{
			CPU: cpuset.CPU(cpu), Kind: KindTask, ID: uint32(n.partTID), TGID: n.partTGID,
			OnNs: n.partNs, LongestNs: n.partLongestNs,
		})
	}
	return intervals
}
