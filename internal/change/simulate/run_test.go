// Package simulate tries the change path in simulated worlds: kernel, processes, disk,
// clock, locks and guards are made up, piton's own code runs as it is. A seed makes
// one history: up to four pitons at once, guards, and a hostile world that kills,
// stops and starves them between any two calls, reuses numbers, changes values, and
// fills or damages the disk. After it, the world is healed and the invariants of
// check.go must hold.
//
// One actor runs at a time, and each call into the world is a point where another may
// go on. What happens depends on the seed alone: no real time, no order of a map.
// Start at Run.
package simulate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Result is how a history ended.
type Result struct {
	Violation string   // of an invariant, "" for none
	History   []string // a line a step, when asked for
	Steps     int
}

// Run makes the history of a seed in a world whose files, those that piton reads by
// their path, are below root (see Files). A panic violates an invariant.
func Run(root string, seed uint64, history bool) (r Result) {
	w := newWorld(root, seed, history)
	defer func() {
		if p := recover(); p != nil {
			r = Result{fmt.Sprintf("panic: %v", p), w.lines, w.steps}
		}
	}()
	w.launch()
	w.run()
	w.check()
	w.end()
	return Result{w.violation, w.lines, w.steps}
}

// fate is what can happen in a history, chosen by its seed.
type fate struct {
	pitons, together int           // in all, and at once
	journals         int           // state directories of the user
	grain            time.Duration // the most that a step takes
	switches         int           // one step in so many is followed by another actor's
	calm             int           // one step in so many brings an event; 0 = none does
	events           []event       // that can come
	errnos           int           // one call in so many fails; 0 = none does
	torn             bool          // writes to the disk are made in parts
	foreign          bool          // some pitons run in other namespaces
	weak             bool          // some pitons have no rights, or no pidfds
	compacts         bool          // the journal is compacted early
	standing         bool          // what is asked for was decided once for all, as by rules
	groups, unified  bool          // there are control groups; of version 2
}

// StandingSeeds is where seeds of histories begin in which pitons change tasks as the daemon
// of standing rules does.
const StandingSeeds = 1 << 32

// GroupSeeds is where seeds of histories begin that have control groups, too.
const GroupSeeds = 2 << 32

func newFate(r *rand.Rand) fate {
	f := fate{
		pitons: 1 + r.IntN(7), together: 1 + r.IntN(4), journals: 1, grain: time.Duration(1+r.IntN(40)) * 50 * time.Microsecond,
		switches: []int{1, 2, 3, 5, 10, 40}[r.IntN(6)],
		torn:     r.IntN(3) == 0, foreign: r.IntN(4) == 0, weak: r.IntN(4) == 0, compacts: r.IntN(6) == 0,
	}
	if r.IntN(6) == 0 {
		f.journals = 2
	}
	if r.IntN(3) == 0 {
		f.errnos = 10 << r.IntN(5)
	}
	for i := range events {
		if r.IntN(3) == 0 {
			f.events = append(f.events, events[i])
		}
	}
	if len(f.events) > 0 {
		f.calm = 10 << r.IntN(6)
	}
	return f
}

// group adds control groups.
func (f *fate) group(r *rand.Rand) {
	f.groups, f.unified, f.standing = true, r.IntN(2) == 0, r.IntN(4) == 0
	for i := range groupEvents {
		if r.IntN(2) == 0 {
			f.events = append(f.events, groupEvents[i])
		}
	}
	if len(f.events) > 0 && f.calm == 0 {
		f.calm = 10 << r.IntN(6)
	}
}

// violate ends the history: an invariant does not hold.
func (w *world) violate(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.log("VIOLATION: %s", w.violation)
	}
}

// log writes a line of the history.
func (w *world) log(format string, args ...any) {
	if !w.history {
		return
	}
	who := "world"
	if w.actor != nil {
		who = w.actor.name
	}
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	w.lines = append(w.lines, fmt.Sprintf("%6d %10.4fs %-12s %s", w.steps, w.now.Seconds(), who, text))
}
