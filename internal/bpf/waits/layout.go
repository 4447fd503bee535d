package waits

import (
	"structs"
	"time"

	"piton/internal/kernel"
	"piton/internal/why"
)

// What follows is laid out as in c/waits.c.

const (
	maxParts = 16
	bins     = len(why.Bins{})
)

// The kinds of targets.
const (
	targetThread = iota
	targetProcess
	targetGroup
)

type targetID struct { // struct target
	_        structs.HostLayout
	ID, Kind uint64
}

// The kinds of interrupts in a rowKey.
const (
	noInterrupt = iota
	hardInterrupt
	softInterrupt
)

type rowKey struct { // struct key
	_         structs.HostLayout
	Group     uint64 // number of the control group
	ID        uint32 // process, or number of the interrupt
	Cause     why.Cause
	Policy    kernel.Policy
	Priority  uint8
	Interrupt uint8
}

type rowValue struct { // struct row
	_                    structs.HostLayout
	Ns, Waits, LongestNs uint64
	Name                 [16]byte
	Bins                 [bins]uint32
}

type waitPart struct { // struct part
	_     structs.HostLayout
	Key   rowKey
	Ns, _ uint64
	Name  [16]byte
}

type longestWait struct { // struct longest
	_         structs.HostLayout
	Ns, EndNs uint64 // the latter of CLOCK_MONOTONIC
	Window    uint32
	TID       kernel.TID
	CPU, Used uint32
	Rest      [why.Causes]uint64
	Parts     [maxParts]waitPart
}

// atLeast takes the longer one, if it is of the window.
func (l *longestWait) atLeast(of *[2]longestWait, window uint32) {
	if one := &of[window&1]; one.Window == window && one.Ns > l.Ns {
		*l = *one
	}
}

// Why a task did not run on an idle CPU.
const (
	missed = iota
	byMask
	byCpuset
	excluded
)

type totals struct { // struct totals
	_                structs.HostLayout
	RanNs            uint64
	AvoidableNs      [excluded]uint64
	Woken, Preempted [bins]uint64
	Longest          [2]longestWait // of even and odd windows
}

// addTo adds what has come since.
func (t *totals) addTo(o *why.Observation, before *totals) {
	o.Ran += time.Duration(t.RanNs - before.RanNs)
	for i, sum := range []*time.Duration{missed: &o.Avoidable.Missed, byMask: &o.Avoidable.Mask, byCpuset: &o.Avoidable.Cpuset} {
		*sum += time.Duration(t.AvoidableNs[i] - before.AvoidableNs[i])
	}
	for i := range bins {
		o.Woken[i] += t.Woken[i] - before.Woken[i]
		o.Preempted[i] += t.Preempted[i] - before.Preempted[i]
	}
}

type cpuHead struct { // struct cpu, without what only the programs need
	_ structs.HostLayout
	totals
	CostNs, LeftOutNs uint64
}

type openWaits struct { // struct open_waits, without what only the programs need
	_ structs.HostLayout
	totals
	Threads, Window uint32 // the latter as in a longestWait
}
