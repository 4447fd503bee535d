package change

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/overwriter"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

const (
	// busyWindow is how long a task that is to become real-time is watched.
	busyWindow = 50 * time.Millisecond
	// busyShare of the window, running or waiting to, makes a task busy: one
	// that never sleeps gets all of its CPU once it is real-time.
	busyShare = 0.5
)

// risk looks at what the planned changes would do and says what the user
// should know before they are made.
func (p *planner) risk() {
	if p.o.Daemon {
		return
	}
	var realTime []Change
	for _, c := range p.plan.Changes {
		if c.Status != attr.Planned {
			continue
		}
		p.view.Risk(c)
		p.riskOneWay(c)
		if c.Attribute == attr.Policy && attr.PolicyOf(c.After).Crowds() {
			realTime = append(realTime, c)
		}
	}
	if len(realTime) > 0 {
		p.riskRealTime(realTime)
	}
	for _, why := range overwriter.Of(p.Proc, p.plan.Changes) {
		p.warn(attr.Note, "%s", why)
	}
}

// riskOneWay says what could not be undone.
func (p *planner) riskOneWay(c Change) {
	switch err := p.NoWayBack(c); {
	case errors.Is(err, attr.ErrOneWay):
		p.plan.Need(NoWayBack, "%s of %s cannot be undone: %v", c.Attribute.Title(), c.Object.Object(), err)
	case err != nil:
		p.warn(attr.OneWay, "%s of %d cannot be undone: %v", c.Attribute.Title(), c.PID, err)
	}
}

// riskRealTime watches the tasks that are to become real-time for a moment:
// one that never sleeps starves whatever else is on its CPU.
func (p *planner) riskRealTime(changes []Change) {
	if self := kernel.TID(os.Getpid()); slices.ContainsFunc(changes, func(c Change) bool { return c.PID == self }) {
		p.plan.Need(OwnRealTime, "piton itself would be real-time, and a busy screen would then run before everything else")
	}
	var names []string
	var reach cpuset.Set
	for _, c := range p.busy(changes) {
		names = append(names, fmt.Sprintf("%d (%s)", c.TID, attr.Printable(c.Comm)))
		reach = reach.Or(p.mask(c))
	}
	if len(names) == 0 {
		return
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	p.plan.Need(BusyRealTime, "%s %s busy all the time; with %s a busy task has its CPU for itself, and ordinary tasks there get %s",
		several(names), verb, changes[0].After, p.Leftover())
	online, err := p.view.OnlineCPUs()
	if err == nil && len(names) >= online.Len() && online.SubsetOf(reach) {
		p.plan.Need(NoCPULeft, "%s would be real-time and busy on every CPU at once, and leave none for ordinary tasks, this screen and the SSH line included",
			several(names))
	}
}

// Leftover is what ordinary tasks get of a CPU beside a real-time task that never sleeps,
// in words: "5 % of it".
func (t *Tuner) Leftover() string {
	limits, err := procfs.ReadThrottling(t.Proc)
	if err != nil {
		return "next to nothing"
	}
	if left := limits.Left(); left > 0 {
		return fmt.Sprintf("%.2g %% of it", left*100)
	}
	return "nothing"
}

// busy returns the changes whose task was running, or wanted to, for most of
// the window.
func (p *planner) busy(changes []Change) []Change {
	before := make([]demand, len(changes))
	for i, c := range changes {
		before[i] = p.demand(c)
	}
	start := p.o.Clock.Now()
	p.o.Clock.Sleep(busyWindow)
	window := p.o.Clock.Now().Sub(start) // much longer than asked for on a starved machine
	var out []Change
	for i, c := range changes {
		if p.demand(c).since(before[i], window) {
			out = append(out, c)
		}
	}
	return out
}

// demand is what a thread wants of the CPUs.
type demand struct {
	ns       uint64 // ran, or waited to run, so far
	runnable bool   // now
}

func (p *planner) demand(c Change) demand {
	var d demand
	if k, err := p.Look(c.PID, c.TID); err == nil {
		d.runnable = k.State == 'R'
	}
	if st, err := p.Proc.Schedstat(c.PID, c.TID); err == nil {
		d.ns = st.RunNs + st.RunDelayNs
	}
	return d
}

// since reports whether the thread was busy. The kernel counts a wait when it
// is over (sched_info_arrive in kernel/sched/stats.h), so on a starved machine a
// thread that was in the queue all the time shows by being runnable at both ends.
func (d demand) since(before demand, window time.Duration) bool {
	if d.runnable && before.runnable {
		return true
	}
	return d.ns > before.ns && float64(d.ns-before.ns) >= busyShare*float64(window)
}

// mask is where the thread may run once the plan is applied.
func (p *planner) mask(c Change) cpuset.Set {
	key := c.Key()
	key.Attribute = attr.Affinity
	if planned := p.view.Find(key); planned != nil && planned.Status == attr.Planned {
		return attr.CPUs(planned.After)
	}
	set, _ := p.Sched.Affinity(c.TID)
	return set
}
