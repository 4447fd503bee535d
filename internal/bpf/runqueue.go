package bpf

import (
	"math"
	"structs"
	"time"
)

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
