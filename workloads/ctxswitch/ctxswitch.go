// Package ctxswitch measures what it costs to change from one process to another
// on one CPU, in two ways: processes in a ring that pass a token on, as LMbench's
// lat_ctx does, each touching some memory of its own; and processes that all want
// the CPU, whose turns and hand-overs are seen from inside, as part A2 of the
// course report does.
//
// That they share one CPU is its own subject, so it sets the affinity of the
// thread that starts them; it makes no other scheduling call. Start at Run;
// runProcess is the life of the processes.
package ctxswitch

import (
	"context"
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Limits of Options.
const (
	MinProcs  = 2
	MaxProcs  = 64
	MaxKiB    = 16 << 10
	MinRounds = 10
	MaxRounds = 100_000_000
	MinMs     = 10
	MaxMs     = 60_000
)

// Mode says how the CPU is handed over.
type Mode string

// The modes.
const (
	Pipe  Mode = "pipe"  // a byte through a pipe to the next process
	Futex Mode = "futex" // a wakeup on a word that all share
	Turns Mode = "turns" // the kernel takes it away
)

// Modes lists them.
var Modes = []Mode{Pipe, Futex, Turns}

// Options is the work to do.
type Options struct {
	Mode   Mode `json:"mode"`
	Procs  int  `json:"procs"`
	KiB    int  `json:"kib"`    // of memory that each touches when it has the token; not for Turns
	Rounds int  `json:"rounds"` // of the token; not for Turns
	Ms     int  `json:"ms"`     // how long all want the CPU; for Turns
	// Command starts a process that does runProcess; nothing is appended.
	Command   []string   `json:"-"`
	Scheduler kernel.Own `json:"-"`
}

// Result is what came out. Times are in µs where no other unit is named.
type Result struct {
	Options
	CPU     int     `json:"cpu"` // that all were on
	Ring    *Ring   `json:"ring,omitempty"`
	Turn    *Turn   `json:"turn,omitempty"` // with Turns
	Answer  string  `json:"answer"`
	Seconds float64 `json:"seconds"`
}

// Switch is the cost of one switch in µs, the figure to compare.
func (r Result) Switch() float64 {
	switch {
	case r.Ring != nil:
		return r.Ring.SwitchUs
	case r.Turn != nil:
		return r.Turn.HandoverUs
	}
	return 0
}

// Run starts the processes on one CPU and lets them pass it to and fro. It fails
// when a process cannot be started or fails, when
// ctx ends, and when a token was lost or two processes ran at once. The limits are
// checked by the processes, and by workload.Param before.
func Run(ctx context.Context, o Options) (Result, error) {
	r := Result{Options: o}
	allowed, err := o.Scheduler.Affinity(0)
	if err != nil {
		return r, fmt.Errorf("find a CPU to share: %w", err)
	}
	// The last one: the first is where most interrupts go.
	cpu := allowed.Last()
	r.CPU = int(cpu)
	reports, err := r.launch(ctx, cpuset.Of(cpu), allowed)
	if err != nil {
		return r, err
	}
	if o.Mode == Turns {
		return r, r.takeTurns(reports)
	}
	return r, r.takeRing(reports)
}
