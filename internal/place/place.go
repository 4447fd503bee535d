// Package place chooses CPUs for tasks, and says why in words. It is pure:
// topology, load and constraints in, CPUs and a reason out.
//
// Start at Place.
package place

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
)

// Load is what is known of one CPU over the measured window. Shares are of the
// window, 0..1.
type Load struct {
	CPU   cpuset.CPU
	Busy  float64 // not idle; NaN means that it is not known
	IRQ   float64 // in irq and softirq, part of Busy
	Steal float64 // taken by the hypervisor, part of Busy
	// Rivals are the tasks seen last on this CPU that ran or waited.
	Rivals []Rival
	// Rest is the part of the run queue's load average that no rival explains, in
	// tasks at nice 0 that are always runnable, and RestNiced the part of Busy at
	// nice > 0 that no rival explains. Both are 0 where the average is not known.
	Rest, RestNiced float64
	// Fixed is the part of Busy that is the work of tasks that may run nowhere else,
	// as far as their affinity is known.
	Fixed  float64
	Pinned int  // tasks that may run here only
	RTBusy bool // a FIFO, RR or DEADLINE task took a notable part of the window
}

// Rival is a task as it competed for a CPU.
type Rival struct {
	TID, Process kernel.TID
	Used         float64 // share of the CPU
	Queued       float64 // share of the window in which it ran or waited, at least Used
	Weight       float64 // see the function Weight
	RealTime     bool    // of a class that runs before the fair one
	Group        *Group  // nil also where it was not looked up
}

// Target is one process or thread to place.
type Target struct {
	TID         kernel.TID
	Comm        string
	LastCPU     cpuset.CPU // -1 unknown
	Allowed     cpuset.Set // cpuset ∩ online: where it could be put
	BusyShare   float64    // CPUs' worth of work it does, 0..threads
	BusyThreads int        // threads that used a notable part of a CPU
	// Share is the target's own use of each CPU, by where it was seen last, to be
	// taken off that CPU's load; what does not fit there, and what is under -1, is
	// taken off where it can have run. It may be nil.
	Share    map[cpuset.CPU]float64
	HomeNode topology.NodeID // where most of its memory is, -1 unknown
	Weight   float64         // as Rival.Weight; 0 is nice 0
	RealTime bool
	Group    *Group
}

// Request is everything Place decides from.
type Request struct {
	Topology      *topology.Topology
	Loads         []Load
	Targets       []Target
	Ignored       []Target // not placed, and what they use counts nowhere: who asks
	Strategy      Strategy
	Within        cpuset.Set // the user's limit; empty = anywhere
	AllowIsolated bool
	Groups        GroupMode // how the kernel weighs groups
}

// Choice is the answer for one target.
type Choice struct {
	TID     kernel.TID
	CPUs    cpuset.Set
	Reason  string // "cpu 5: 97 % of a CPU expected (others use 2 %, sibling 13 idle, same L3 as now); next cpu 7 (88 %)"
	Warning string // "" or e.g. that the process is wider than the CPUs given
	Guess   bool   // the load floats so that nothing predicts better than chance
	// Of a single CPU: the share of it that can be expected, that others use, and how near it
	// is to where the target ran last: "same L3 as now", "" when that is not known.
	Share, Busy float64
	Near        string
}

// NoCPUError says why there is no CPU for a target.
type NoCPUError struct {
	TID  kernel.TID
	Comm string
	Why  string // one sentence without the full stop
}

func (e *NoCPUError) Error() string {
	return fmt.Sprintf("no CPU for %d (%s): %s", e.TID, e.Comm, e.Why)
}

// Place chooses CPUs for the targets of a request, all of them together: what
// one is given counts as load for the next. The choices are in the order of the
// targets. A target for which there is no CPU has no choice, and a NoCPUError in
// the joined error; the choices of the others are good all the same.
func Place(r Request) ([]Choice, error) {
	lay, ok := layouts[r.Strategy]
	if !ok {
		_, err := ParseStrategy(string(r.Strategy))
		return nil, err
	}
	b := newBoard(r)
	limits := make([]limit, len(r.Targets))
	for i := range r.Targets {
		limits[i] = b.candidates(&r.Targets[i])
	}
	made := make([]Choice, len(r.Targets))
	errs := make([]error, len(r.Targets))
	for _, i := range placingOrder(r.Targets, limits) {
		t := &r.Targets[i]
		if limits[i].err == nil {
			b.expect(t)
			made[i], limits[i].err = lay(b, t, limits[i].slots)
		}
		if limits[i].err != nil {
			errs[i] = &NoCPUError{TID: t.TID, Comm: t.Comm, Why: limits[i].err.Error()}
			continue
		}
		made[i].Warning = joinWords(limits[i].warning, made[i].Warning)
	}
	out := made[:0]
	for i := range made {
		if errs[i] == nil {
			out = append(out, made[i])
		}
	}
	return out, errors.Join(errs...)
}

// placingOrder puts those with the least choice first, then the busiest, so
// that they find room.
func placingOrder(targets []Target, limits []limit) []int {
	order := make([]int, len(targets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(limits[a].slots), len(limits[b].slots)),
			cmp.Compare(targets[b].BusyShare, targets[a].BusyShare))
	})
	return order
}

// Best returns the CPU that Place would give to a new task of one thread, or -1
// when there is none. It stays with the answer before, -1 if there was none, as
// long as no CPU is better by more than a window can tell; gain is by how much
// longer its work would take on that one, as a share of what it takes on a free
// CPU, infinite if there is no such CPU any more.
func Best(t *topology.Topology, loads []Load, before cpuset.CPU) (best cpuset.CPU, gain float64) {
	newcomer := Target{Allowed: t.Online, LastCPU: before, HomeNode: -1, BusyShare: 1, BusyThreads: 1}
	b := newBoard(Request{Topology: t, Loads: loads})
	l := b.candidates(&newcomer)
	if l.err != nil {
		return -1, math.Inf(1)
	}
	b.expect(&newcomer)
	at, _ := b.pick(&newcomer, l.slots, b.crowding)
	gain = math.Inf(1)
	for _, i := range l.slots {
		if b.slots[i].cpu.ID == before {
			gain = b.cost(i, &newcomer) - b.cost(at, &newcomer)
		}
	}
	return b.slots[at].cpu.ID, gain
}

// Strategy is how targets are laid out over the machine.
type Strategy string

// The strategies of --place.
const (
	LeastLoaded Strategy = "least-loaded" // one core each, the least loaded first
	Pack        Strategy = "pack"         // a CPU for each busy thread, all close together: same core, then same LLC
	Spread      Strategy = "spread"       // a CPU for each busy thread, as far apart as can be
	LLC         Strategy = "llc"          // the least loaded last-level cache's CPUs
	NodeWide    Strategy = "node"         // the least loaded node's CPUs
	SiblingFree Strategy = "sibling-free" // a core each with every SMT sibling idle
)

// Strategies lists the strategies in the order of the help.
func Strategies() []Strategy {
	return []Strategy{LeastLoaded, Pack, Spread, LLC, NodeWide, SiblingFree}
}

// layouts places one target on one or more of the slots that it may use.
var layouts = map[Strategy]func(*board, *Target, []int) (Choice, error){
	LeastLoaded: (*board).leastLoaded,
	SiblingFree: (*board).siblingFree,
	Pack:        (*board).pack,
	Spread:      (*board).spread,
	LLC:         (*board).wholeLLC,
	NodeWide:    (*board).wholeNode,
}

// Words are the strategies as --place and --pin take them.
func Words() (out []string) {
	for _, s := range Strategies() {
		out = append(out, string(s))
	}
	return out
}

// ParseStrategy reads the argument of --place and --pin.
func ParseStrategy(name string) (Strategy, error) {
	if s := Strategy(name); slices.Contains(Strategies(), s) {
		return s, nil
	}
	return "", fmt.Errorf("%q is no placement: use %s", name, strings.Join(Words(), ", "))
}
