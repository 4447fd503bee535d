package bpf

import (
	"bytes"
	"math"
	"math/bits"
	"structs"
	"time"

	"github.com/cilium/ebpf"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Thread is what the walk tells of every thread, as the kernel has it at the moment the
// walk passed it.
type Thread struct { // struct thread_record of c/record.h
	_                   structs.HostLayout
	UserNs, SystemNs    uint64 // as accounted by ticks on most kernels; see AdjustCPUTime
	RunNs               uint64 // on a CPU, exact (schedstat)
	RunDelayNs          uint64 // runnable but waiting (schedstat)
	Slices              uint64 // times put on a CPU (schedstat)
	Migrations          uint64 // se.nr_migrations
	VoluntarySwitches   uint64
	InvoluntarySwitches uint64
	MinorFaults         uint64
	MajorFaults         uint64
	TID, TGID           kernel.TID
	Mask                uint32 // row of WalkStats.Masks, or NoMask
	Load                uint32 // its part of RunQueue.LoadAvg
	Policy              kernel.Policy
	RTPrio              uint8
	Nice                int8
	_                   [5]uint8
}

// Record is a thread with all else that the walk tells of a task.
//
// The record of a process (TID equals TGID) has the process's sums, exited
// threads included, in UserNs, SystemNs, CPUNs, the faults and the switches;
// its Migrations and its Load are those of all threads that live. RSSPages and Threads
// are the process's in every record. All else concerns the one thread.
type Record struct { // struct task_record of c/record.h
	_ structs.HostLayout
	Thread
	StartNs   uint64 // since boot, suspend included (start_boottime)
	CPUNs     uint64 // on a CPU, exact
	RSSPages  int64  // as field 24 of /proc/PID/stat
	PPID      kernel.TID
	UID       uint32 // effective
	Flags     uint32 // PF_*, field 9 of stat
	Threads   int32
	LastCPU   int32
	CommBytes [16]byte
	Priority  int16 // field 18 of stat
	State     byte  // R S D Z T t I X P, proc(5)
	_         byte
}

// NoMask as a Thread's Mask means that the table of masks was full.
const NoMask = ^uint32(0)

// IsProcess reports whether it stands for a process: it is the first thread.
func (t *Thread) IsProcess() bool { return t.TID == t.TGID }

// CommRaw is the task's name, up to 15 bytes that may be anything but NUL. It
// refers to the record. For kernel threads /proc has a longer one.
func (r *Record) CommRaw() []byte {
	if end := bytes.IndexByte(r.CommBytes[:], 0); end >= 0 {
		return r.CommBytes[:end]
	}
	return r.CommBytes[:]
}

// Have says which figures this kernel has.
type Have uint32

// Figures that some kernels are built without.
const (
	HaveRunDelay  Have = 1 << iota // RunDelayNs, Slices (CONFIG_SCHED_INFO)
	HaveRunQueues                  // RunQueue (CONFIG_FAIR_GROUP_SCHED)
)

// WalkStats is what a walk tells besides records.
type WalkStats struct {
	Have Have
	// Tasks is the number of threads that were walked. /proc/loadavg has their
	// number too (the second one of "3/412"): a kernel that hides processes from
	// eBPF programs, as some virtual machines hide their first one, has more there.
	Tasks        int
	Truncated    int // records and threads that found no room; they are missing
	NoMasks      int // of them, with NoMask
	RunQueues    []RunQueue
	Masks        []cpuset.Set // by Thread.Mask; later walks only append, or make a new one
	RecordsBytes int          // memory that the records take in the kernel
}

// AdjustCPUTime divides the exact time that a task was on CPUs into user and
// system time, in the proportion in which ticks found it there, and never
// below what was shown before. It is cputime_adjust of kernel/sched/cputime.c,
// which makes the times of /proc/PID/stat; all times are ns.
func AdjustCPUTime(user, system, cpu, shownUser, shownSystem uint64) (adjustedUser, adjustedSystem uint64) {
	switch {
	case shownUser+shownSystem >= cpu:
		return shownUser, shownSystem
	case system == 0:
	case user == 0:
		adjustedSystem = cpu
	default:
		hi, lo := bits.Mul64(system, cpu)
		adjustedSystem, _ = bits.Div64(hi%(user+system), lo, user+system)
		adjustedSystem = min(adjustedSystem, cpu)
	}
	adjustedSystem = max(adjustedSystem, shownSystem)
	adjustedUser = cpu - adjustedSystem
	if adjustedUser < shownUser {
		adjustedUser, adjustedSystem = shownUser, cpu-shownUser
	}
	return adjustedUser, adjustedSystem
}

// maxMasks is how many distinct affinity masks the table holds, MAX_MASKS of
// c/record.h. A machine has few: one, and those that someone set.
const maxMasks = 2048

// maskTable is the table of distinct affinity masks that walks fill. Rows stay
// from walk to walk, so that only new ones are decoded.
type maskTable struct {
	memory  *ebpf.Memory
	rows    *ebpf.Map // from a mask's hash to its row
	words   []uint64  // of one row
	used    uint32
	decoded []cpuset.Set
}

func newMaskTable(masks, rows *ebpf.Map) (*maskTable, error) {
	memory, err := masks.Memory()
	return &maskTable{memory: memory, rows: rows, words: make([]uint64, masks.ValueSize()/8)}, err
}

// sets returns the masks of the first used rows.
func (t *maskTable) sets(used uint32) ([]cpuset.Set, error) {
	t.used = used
	for row := len(t.decoded); row < int(used); row++ {
		if _, err := t.memory.ReadAt(object.BytesOfAll(t.words), int64(row*len(t.words)*8)); err != nil {
			return nil, err
		}
		t.decoded = append(t.decoded, cpuset.FromWords(t.words))
	}
	return t.decoded[:used:used], nil
}

// makeRoom forgets all rows once the table is full: most are masks that no task
// has any more. The next walk fills it anew.
func (t *maskTable) makeRoom() error {
	if t.used < maxMasks {
		return nil
	}
	err := object.Drain(t.rows, make([]uint64, maxMasks), make([]uint32, maxMasks), func(uint64, uint32) {})
	if err != nil {
		return err
	}
	t.used, t.decoded = 0, nil
	return nil
}

// RunQueue is one CPU's queue of tasks as it was when the walk passed a task
// of that CPU. OK is false for a CPU that is offline, or without tasks: the
// kernel's own ksoftirqd/N usually makes every online one appear.
//
// The averages are PELT's (kernel/sched/pelt.c): they halve every 32 ms.
// LoadAvg weighs runnable tasks by nice, 1024 for each that is always runnable
// at nice 0; the others are shares of the CPU's time, 1024 is all of it.
type RunQueue struct {
	OK       bool
	Running  uint32 // tasks running or waiting, of all policies
	LoadAvg  uint64
	RTUtil   uint32
	DLUtil   uint32
	IRQUtil  uint32 // 0 without CONFIG_IRQ_TIME_ACCOUNTING or a paravirtual clock
	Switches uint64 // since boot
	// Age is how long ago the kernel updated the queue: a CPU that sleeps does
	// not decay its averages itself.
	Age time.Duration
}

// halfLife is PELT's: y^32 = 0.5 with periods of about a millisecond.
const halfLife = 32 * 1024 * time.Microsecond

// Load is LoadAvg + RTUtil + DLUtil + IRQUtil, decayed by Age if nothing is
// runnable on the CPU.
func (q *RunQueue) Load() float64 {
	return q.Decay() * (float64(q.LoadAvg) + float64(q.RTUtil) + float64(q.DLUtil) + float64(q.IRQUtil))
}

// Decay is what is left by now of the averages, 0..1.
func (q *RunQueue) Decay() float64 {
	if q.Running > 0 {
		return 1
	}
	return math.Exp2(-float64(q.Age) / float64(halfLife))
}

type cpuRecord struct { // struct cpu_record of c/record.h
	_                                   structs.HostLayout
	loadAvg, clockNs, switches          uint64
	pass, running, rtAvg, dlAvg, irqAvg uint32
	_                                   uint32
}

// runQueues converts the records that a walk filled. The clocks of all CPUs run
// alike, and the CPU that walked has just updated its own, so the latest clock
// is now.
func runQueues(into []RunQueue, records []cpuRecord, pass uint32) []RunQueue {
	var now uint64
	for _, r := range records {
		if r.pass == pass {
			now = max(now, r.clockNs)
		}
	}
	for _, r := range records {
		q := RunQueue{}
		if r.pass == pass {
			q = RunQueue{
				OK: true, Running: r.running, LoadAvg: r.loadAvg, RTUtil: r.rtAvg, DLUtil: r.dlAvg,
				IRQUtil: r.irqAvg, Switches: r.switches, Age: time.Duration(now - r.clockNs),
			}
		}
		into = append(into, q)
	}
	return into
}
