package sample

import (
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Move is how often one task moved from one CPU to another since the sample
// before.
type Move struct {
	TID      kernel.TID
	From, To cpuset.CPU
	Count    uint32
}

// Step is one move of the task that Needs.Trace names, in the order in which
// they happened.
type Step struct {
	AtNs     uint64 // CLOCK_MONOTONIC
	From, To cpuset.CPU
}

// StayKind says what took time on a CPU.
type StayKind uint8

// The kinds of Stay.
const (
	StayTask StayKind = iota
	StayIRQ
	StaySoftIRQ
)

// String is "task", "irq" or "softirq".
func (k StayKind) String() string { return [...]string{"task", "irq", "softirq"}[k] }

// Stay is what one task, interrupt line or softirq took of one CPU since the
// sample before.
type Stay struct {
	CPU       cpuset.CPU
	Kind      StayKind
	TID       kernel.TID // of a task
	Number    int        // of an interrupt line, or the vector of a softirq
	Name      string     // comm, action of the interrupt, name of the softirq
	RunNs     uint64
	WaitNs    uint64 // runnable before it ran; tasks only
	LongestNs uint64 // the longest single stay
	Times     uint64 // times it was switched to, or raised
}
