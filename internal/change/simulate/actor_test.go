package simulate

import (
	"context"
	"iter"
	"time"

	"piton/internal/kernel"
)

// actor is a process that runs code of piton, a step at a time.
type actor struct {
	*world
	name  string
	pid   kernel.TID
	start uint64
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	began     int           // the step at which it started
	until     time.Duration // it sleeps until then, or until
	ready     func() bool   // this holds; nil = nothing else wakes it
	dead      bool          // it was killed, or has ended
	finished  bool          // its code has returned
	stopped   bool          // by SIGSTOP
	starved   time.Duration // it gets no CPU until then
	disturbed string        // what the world did to it that excuses it from being in time
	ends      []func()      // what the kernel does when it ends: locks are released, connections closed
	interrupt bool          // Ctrl-C
	meant     *group        // that it last looked at
	looked    int           // the step at which it last read a period

	*piton // nil for a guard
	guard  *guardian
}

// death is what unwinds the code of a process that was killed.
type death struct{}

// spawn makes an actor that runs do.
func (w *world) spawn(name string, do func(a *actor)) *actor {
	w.pids++
	a := &actor{world: w, name: name, pid: w.pids, start: w.ticks(), began: w.steps}
	body := func(yield func(struct{}) bool) {
		defer func() {
			if p := recover(); p != nil {
				if _, killed := p.(death); !killed {
					panic(p)
				}
			}
			a.finished = true
		}()
		a.yield = yield
		do(a)
		a.die("ends")
	}
	a.next, a.stop = iter.Pull(iter.Seq[struct{}](body))
	w.actors = append(w.actors, a)
	return a
}

// die ends the process: its code does nothing more.
func (a *actor) die(how string) {
	if a.dead {
		return
	}
	a.log("%s %s (%d)", a.name, how, a.pid)
	a.dead = true
	if a.holder == a {
		a.holder = nil
	}
	for _, d := range a.disks {
		if d.holder == a {
			d.holder = nil
		}
	}
	for _, end := range a.ends {
		end()
	}
}

// step is the beginning of each call into the world: time passes, things happen, and
// another actor may run. It is false in a process that is dead.
func (a *actor) step() bool {
	if a.dead {
		return false
	}
	w := a.world
	w.steps++
	w.now += time.Duration(w.rng.Int64N(int64(w.fate.grain)))
	w.happen()
	w.inTime()
	if a.dead || a.stopped || w.violation != "" || !w.healed && (w.now < a.starved || w.rng.IntN(w.fate.switches) == 0) {
		a.pause()
	}
	return true
}

// pause lets others run.
func (a *actor) pause() {
	if !a.yield(struct{}{}) || a.dead {
		panic(death{})
	}
}

// wait sleeps until a time, or until ready holds.
func (a *actor) wait(until time.Duration, ready func() bool) {
	if !a.step() {
		return
	}
	a.until, a.ready = until, ready
	for !a.awake() {
		a.pause()
	}
	a.until, a.ready = 0, nil
}

func (a *actor) awake() bool { return a.now >= a.until || a.ready != nil && a.ready() }

// runs reports whether the actor could run now.
func (a *actor) runs() bool { return !a.dead && !a.stopped && a.now >= a.starved && a.awake() }

// maxSteps bounds a history: one that takes longer does not end.
const maxSteps = 300_000

// run lets the actors run until all have ended, or wait for what does not come.
func (w *world) run() {
	var able []*actor
	for w.violation == "" {
		able = able[:0]
		for _, a := range w.actors {
			if a.runs() {
				able = append(able, a)
				if a.guard != nil { // above all others
					able = append(able, a, a)
				}
			}
		}
		if len(able) == 0 {
			if !w.advance() {
				return
			}
			continue
		}
		a := able[w.rng.IntN(len(able))]
		w.actor = a
		a.next()
		w.actor = nil
		if a.finished {
			w.actors = without(w.actors, a)
		}
		if w.steps > maxSteps {
			w.violate("the history does not end")
		}
	}
}

// advance passes the time until an actor can run; false: none will.
func (w *world) advance() bool {
	var first *actor
	var at time.Duration
	for _, a := range w.actors {
		if a.dead || a.stopped {
			continue
		}
		if due := max(a.until, a.starved); first == nil || due < at {
			first, at = a, due
		}
	}
	if first == nil || at >= never {
		return false
	}
	w.now = max(w.now, at)
	w.happen()
	return true
}

// never is when an actor wakes that waits for something else.
const never = time.Duration(1 << 62)

// end unwinds what is left, so that no goroutine stays.
func (w *world) end() {
	for _, a := range w.actors {
		a.dead, w.actor = true, a
		a.stop()
	}
	w.actors, w.actor = nil, nil
}

func without[T comparable](list []T, x T) []T {
	for i, y := range list {
		if x == y {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// interruptible is a context that Ctrl-C ends.
type interruptible struct {
	context.Context
	a *actor
}

func (c interruptible) Err() error {
	if c.a.interrupt {
		return context.Canceled
	}
	return nil
}
