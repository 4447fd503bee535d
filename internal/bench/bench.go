// Package bench judges placements: it runs a workload as a child process again
// and again under several placements, measures it from outside, and says with
// honest statistics whether a placement helped.
//
// Start at Study and Run.
package bench

import (
	"time"

	"piton/internal/kernel"
)

// Study is one comparison to run.
type Study struct {
	Workload   string        // "nqueens", "matrix"
	Args       []string      // the workload's own flags, e.g. "-n", "14"
	Placements []Placement   // the first is the base that the others are compared with
	Runs       int           // measured runs per placement
	Warmup     int           // runs per placement that are not counted
	Timeout    time.Duration // for one run; 0 = none
}

// Placement is how the runs of one arm are placed: "normal", "least-loaded",
// "fifo:10", "rr:10", "batch", "idle", "nice:-5", "cpu:3", "pack", "spread", and
// several joined with "+": "least-loaded+fifo:10".
type Placement string

// RunResult is one run of the workload, measured from outside.
type RunResult struct {
	Workload        string
	Placement       Placement
	Index           int // 0-based among the measured runs of the placement; -1 for warm-up
	PID             kernel.TID
	Wall            time.Duration
	User            time.Duration
	System          time.Duration
	Migrations      uint64
	MigrationSource string // sample.Source's word
	Voluntary       uint64
	Involuntary     uint64
	RunDelay        time.Duration
	MinorFaults     uint64
	MajorFaults     uint64
	MaxRSSBytes     uint64
	Answer          string  // as the workload printed it
	Metric          float64 // the workload's own timing of its work, seconds; what is compared
	Touched         bool    // somebody changed its placement while it ran
	Err             string  // "" when it ran and its answer was right
	CPUs            string  // cpulist it was placed on, "" if not restricted
}
