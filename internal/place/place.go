// Package place chooses CPUs for tasks, and says why in words. It is pure:
// topology, load and constraints in, CPUs and a reason out.
//
// Start at Place.
package place

import (
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
)

// Strategy is how targets are laid out over the machine.
type Strategy string

// The strategies of --place.
const (
	LeastLoaded Strategy = "least-loaded" // one core each, the least loaded first
	Pack        Strategy = "pack"         // all on one CPU's neighbourhood: same core, then same LLC
	Spread      Strategy = "spread"       // one CPU each, as far apart as can be
	LLC         Strategy = "llc"          // the least loaded last-level cache's CPUs
	NodeWide    Strategy = "node"         // the least loaded node's CPUs
	SiblingFree Strategy = "sibling-free" // a core each with every SMT sibling idle
)

// Load is what is known of one CPU over the measured window.
type Load struct {
	CPU cpuset.CPU
	// Busy is the share of the window, 0..1, that was not idle, less the share
	// used by nice > 0 tasks.
	Busy float64
	// RunDelay is the time tasks waited on this CPU, in seconds per second; 0..n.
	RunDelay float64
	// Pressure is the run queue's load_avg + rt + irq in CPU capacities, 0..n,
	// from the kernel's own averages; valid when HavePressure.
	Pressure     float64
	HavePressure bool
	IRQ          float64 // share of the window in irq and softirq
	Pinned       int     // tasks that may run here only
	RTBusy       bool    // a FIFO, RR or DEADLINE task took a notable part of the window
}

// Target is one process or thread to place.
type Target struct {
	TID         kernel.TID
	Comm        string
	LastCPU     cpuset.CPU // -1 unknown
	Allowed     cpuset.Set // cpuset ∩ online: where it could be put
	BusyShare   float64    // CPUs' worth of work it does, 0..threads
	BusyThreads int        // threads that used a notable part of a CPU
	// Share is the target's own use of each CPU, to be taken off that CPU's load.
	Share    map[cpuset.CPU]float64
	HomeNode topology.NodeID // where most of its memory is, -1 unknown
}

// Request is everything Place decides from.
type Request struct {
	Topology      *topology.Topology
	Loads         []Load
	Targets       []Target
	Strategy      Strategy
	Within        cpuset.Set // the user's limit; empty = anywhere
	AllowIsolated bool
}

// Choice is the answer for one target.
type Choice struct {
	TID     kernel.TID
	CPUs    cpuset.Set
	Reason  string // "cpu 5: 1% busy, sibling 13 idle, same L3 as now; next cpu 7 (9%)"
	Warning string // "" or e.g. that the process is wider than the CPUs given
	Guess   bool   // the load floats so that nothing predicts better than chance
}
