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

type targetAim struct { // struct aim
	_            structs.HostLayout
	Slot, Follow uint8
}

// Causes that only programs tell apart; both are why.Kernel.
const (
	hardInterrupt = why.Causes + iota
	softInterrupt
)

type rowKey struct { // struct key
	_        structs.HostLayout
	Group    uint64 // number of the control group
	ID       uint32 // process, or number of the interrupt
	Cause    why.Cause
	Policy   kernel.Policy
	Priority uint8
	Slot     uint8
}

type rowValue struct { // struct row
	_             structs.HostLayout
	Ns, LongestNs uint64
	Name          [16]byte
	Bins          [bins]uint32
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
	_         uint32
	TID       kernel.TID
	CPU, Used uint32
	Rest      [why.Causes]uint64
	Parts     [maxParts]waitPart
}

// Why a task did not run on an idle CPU.
const (
	missed = iota
	byMask
	byCpuset
	excluded
)

type spanTotals struct { // struct span
	_          structs.HostLayout
	Idle       [16]uint64 // a bit for each CPU
	Threads, _ uint32
	Longest    longestWait
}

type slotSums struct { // struct totals, up to its spans
	_                structs.HostLayout
	RanNs            uint64
	AvoidableNs      [excluded]uint64
	Lost             uint64
	UnlistedNs       [why.Causes]uint64
	Woken, Preempted [bins]uint32
	Live, _          uint32
}

type slotTotals struct { // struct totals
	_ structs.HostLayout
	slotSums
	Spans [2]spanTotals // of even and odd windows
}

// addTo adds what has come since.
func (t *slotSums) addTo(o *why.Observation, before *slotSums) {
	o.Ran += time.Duration(t.RanNs - before.RanNs)
	o.Lost += t.Lost - before.Lost
	for i, sum := range []*time.Duration{missed: &o.Avoidable.Missed, byMask: &o.Avoidable.Mask, byCpuset: &o.Avoidable.Cpuset} {
		*sum += time.Duration(t.AvoidableNs[i] - before.AvoidableNs[i])
	}
	for cause, ns := range t.UnlistedNs {
		if ns -= before.UnlistedNs[cause]; ns > 0 {
			o.By = append(o.By, why.Waited{By: why.By{Cause: why.Cause(cause)}, Time: time.Duration(ns)})
		}
	}
	for i := range bins {
		o.Woken[i] += uint64(t.Woken[i] - before.Woken[i])
		o.Preempted[i] += uint64(t.Preempted[i] - before.Preempted[i])
	}
}

type cpuHead struct { // struct cpu, without what only the programs need
	_      structs.HostLayout
	CostNs uint64
}
