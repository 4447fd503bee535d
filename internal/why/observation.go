// Package why says why tasks waited for a CPU: it splits the time between becoming runnable and
// running by what the CPU did meanwhile, names the largest cause, and what helps against it. It is
// pure: what is observed comes from package bpf or from files.
package why

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Cause is what a runnable task waited for. Each moment of a wait has one.
type Cause uint8

const (
	Unknown   Cause = iota // lost, or longer ago than what is kept
	Self                   // another thread of its own process
	Neighbour              // another process under an ordinary policy
	RealTime               // another process under FIFO, RR or DEADLINE
	Kernel                 // an interrupt, a softirq, or a kernel thread
	Host                   // the hypervisor, which ran something else (steal)
	Limit                  // the CPU limit of a control group: the task was throttled
	Waking                 // nobody: the CPU was idle, or coming out of it
	Causes                 // how many there are
)

// By is who had the CPU while others waited for it.
type By struct {
	Cause    Cause
	Group    string     // control group of who ran, from the root of the hierarchy; under Limit the one whose limit it was
	Command  string     // comm of who ran; of Kernel: the kernel thread, or "irq NAME" or "softirq NAME"; else empty
	PID      kernel.TID // process that ran, 0 without one
	Policy   kernel.Policy
	Priority int // of FIFO and RR, 1 to 99
}

// Waited is what was waited for one.
type Waited struct {
	By
	Time    time.Duration // sum of these parts of waits
	Waits   uint64        // waits with such a part
	Longest time.Duration // longest such part
	Bins    Bins          // of these parts
}

// SortWaited puts those that took the longest first.
func SortWaited(all []Waited) {
	slices.SortFunc(all, func(a, b Waited) int { return cmp.Compare(b.Time, a.Time) })
}

// Avoidable is the time waited while another CPU was idle, in lower bounds.
type Avoidable struct {
	Mask   time.Duration // its affinity left that CPU out
	Cpuset time.Duration // the cpuset of its control group did
	Missed time.Duration // it might have run there
	Idle   cpuset.Set    // CPUs that were idle meanwhile and left out
}

// LongestWait is one wait, taken apart.
type LongestWait struct {
	TID   kernel.TID
	CPU   cpuset.CPU
	Time  time.Duration
	End   time.Time
	Parts []Waited // sorted by time, the longest first; their times sum to Time
}

// Observation is what the threads of a target did in a span of time.
type Observation struct {
	Span      time.Duration // wall time
	Threads   int           // that were seen
	Ran       time.Duration // sum over the threads
	Waited    time.Duration // sum over the threads: the growth of run_delay (schedstat, field 2), with what was still open at the end
	Woken     Bins          // waits that began with a wakeup, or a fork
	Preempted Bins          // waits that began with being preempted, or with a yield
	By        []Waited      // their times sum to Waited
	Avoidable Avoidable
	Longest   LongestWait
	Lost      uint64        // events that were lost
	Cost      time.Duration // CPU time that observing took
}

// Waits are the bins of all waits.
func (o *Observation) Waits() Bins {
	all := o.Woken
	all.Add(&o.Preempted)
	return all
}

// Bins are counts of durations: bin 0 has those below 1 µs, then each octave has four, the last
// bin has the rest (some 13 s and more).
type Bins [96]uint64

// Bin is the bin of a duration in ns.
func Bin(ns uint64) int {
	const unit = 10 // 1,024 ns are taken for 1 µs, so that shifts will do
	if ns>>unit == 0 {
		return 0
	}
	octave := bits.Len64(ns) - 1 - unit
	return min(1+4*octave+int(ns>>(octave+unit-2)&3), len(Bins{})-1)
}

// BinStart is the shortest duration of a bin.
func BinStart(bin int) time.Duration {
	if bin == 0 {
		return 0
	}
	octave, quarter := (bin-1)/4, (bin-1)%4
	return time.Duration(4+quarter) << (octave + 8)
}
