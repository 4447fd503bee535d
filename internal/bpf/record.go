package bpf

import (
	"bytes"
	"structs"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Record is one task at the moment the walk passed it, as the kernel has it.
//
// The record of a process (TID equals TGID) has the process's sums, exited
// threads included, in UserNs, SystemNs, CPUNs, the faults and the switches;
// its Migrations are those of all threads that live. RSSPages and Threads are
// the process's in every record. All else concerns the one thread.
type Record struct { // struct task_record of c/record.h
	_                   structs.HostLayout
	StartNs             uint64 // since boot, suspend included (start_boottime)
	UserNs, SystemNs    uint64 // as accounted by ticks on most kernels; see AdjustCPUTime
	CPUNs               uint64 // on a CPU, exact
	RunNs               uint64 // on a CPU, of this thread alone (schedstat)
	RunDelayNs          uint64 // runnable but waiting (schedstat)
	Slices              uint64 // times put on a CPU (schedstat)
	Migrations          uint64 // se.nr_migrations
	VoluntarySwitches   uint64
	InvoluntarySwitches uint64
	MinorFaults         uint64
	MajorFaults         uint64
	RSSPages            int64 // as field 24 of /proc/PID/stat
	TID, TGID, PPID     kernel.TID
	UID                 uint32 // effective
	Flags               uint32 // PF_*, field 9 of stat
	Threads             int32
	LastCPU             int32
	Mask                uint32 // row of Walk.Masks, or NoMask
	Load                uint32 // its part of RunQueue.LoadAvg
	CommBytes           [16]byte
	State               byte // R S D Z T t I X P, proc(5)
	Policy              kernel.Policy
	RTPrio              uint8
	Nice                int8
	Priority            int16 // field 18 of stat
	_                   [3]uint16
}

// NoMask as a Record's Mask means that the table of masks was full.
const NoMask = ^uint32(0)

// IsProcess reports whether the record stands for a process.
func (r *Record) IsProcess() bool { return r.TID == r.TGID }

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
	Truncated    int // records that found no room; they are missing
	NoMasks      int // records with NoMask
	RunQueues    []RunQueue
	Masks        []cpuset.Set // by Record.Mask; later walks only append, or make a new one
	RecordsBytes int          // memory that the records take in the kernel
}
