package tune

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

const (
	// busyWindow is how long a task that is to become real-time is watched.
	busyWindow = 50 * time.Millisecond
	// busyShare of the window, running or waiting to, makes a task busy: one
	// that never sleeps gets all of its CPU once it is real-time.
	busyShare = 0.5
)

// caution looks at what the planned changes would do and says what the user
// should know before they are made.
func (p *planner) caution() {
	var realTime []Change
	for _, c := range p.plan.Changes {
		if c.Status != Planned {
			continue
		}
		switch c.Attribute {
		case Nice:
			p.cautionNice(c)
		case Policy:
			p.cautionIdle(c)
			switch policyOf(c.After) {
			case kernel.Deadline:
				p.cautionDeadline(c)
			case kernel.Ext:
				p.cautionExt()
			}
			if crowds(c.After) {
				realTime = append(realTime, c)
			}
		case Memory:
			p.cautionMemory(c)
		}
	}
	if len(realTime) > 0 {
		p.cautionRealTime(realTime)
	}
	for _, o := range p.t.Overwriters(p.plan.Changes) {
		p.warn("%s", o.Why)
	}
}

func (p *planner) cautionNice(c Change) {
	if p.t.Autogrouped(c.PID) {
		p.warn("autogroup is on: nice ranks %d only against tasks of its own session; "+
			"to rank its whole session: piton nice --autogroup %d %s", c.PID, c.PID, c.After)
	}
	before, _ := strconv.Atoi(c.Before)
	after, _ := strconv.Atoi(c.After)
	if after > before && p.oneWay(c, niceLimit(c.Before)) {
		p.warn("raising nice is one-way without CAP_SYS_NICE: you could not set %d of %d back, nor undo this", before, c.PID)
	}
}

func (p *planner) cautionIdle(c Change) {
	if policyOf(c.After) == kernel.Idle && policyOf(c.Before) != kernel.Idle && p.oneWay(c, 20) {
		p.warn("entering SCHED_IDLE is one-way without CAP_SYS_NICE: %d could not leave it again, nor could you undo this", c.PID)
	}
	if after, err := parsePolicy(c.After); err == nil && after.ResetOnFork && !strings.Contains(c.Before, resetWord) &&
		!p.t.rights().Has(kernel.CapSysNice) {
		p.warn("reset-on-fork is one-way without CAP_SYS_NICE: you could not take it from %d again", c.PID)
	}
}

// oneWay reports whether the way back needs a right that is not there.
func (p *planner) oneWay(c Change, needed uint64) bool {
	if p.t.rights().Has(kernel.CapSysNice) {
		return false
	}
	limits, err := p.t.o.Limits(c.TID)
	return err != nil || limits.Nice < needed
}

// cautionRealTime watches the tasks that are to become real-time for a moment:
// one that never sleeps starves whatever else is on its CPU.
func (p *planner) cautionRealTime(changes []Change) {
	if self := kernel.TID(os.Getpid()); slices.ContainsFunc(changes, func(c Change) bool { return c.PID == self }) {
		p.plan.NeedsYes = "this would make piton itself real-time, and a busy screen would then run before everything else"
	}
	var names []string
	var reach cpuset.Builder
	for _, c := range p.busy(changes) {
		names = append(names, fmt.Sprintf("%d (%s)", c.TID, printable(c.Comm)))
		for cpu := range p.mask(c).All() {
			reach.Add(cpu)
		}
	}
	if len(names) == 0 {
		return
	}
	after := changes[0].After
	p.plan.Trial = fmt.Sprintf("%s %s busy all the time; with %s a busy task has its CPU for itself, and ordinary tasks there get %s",
		several(names), isAre(len(names)), after, p.t.leftover())
	p.warn("%s", p.plan.Trial)
	if p.plan.NeedsYes != "" {
		return
	}
	online, err := p.online()
	if err == nil && len(names) >= online.Len() && online.SubsetOf(reach.Set()) {
		p.plan.NeedsYes = fmt.Sprintf("%s would be real-time and busy on every CPU at once, and leave none for ordinary tasks, this screen and the SSH line included",
			several(names))
	}
}

// leftover is what ordinary tasks get beside a real-time task that never
// sleeps (Documentation/scheduler/sched-rt-group.rst, "system-wide settings").
func (t *Tuner) leftover() string {
	runtime, err := t.o.Proc.Sysctl("kernel/sched_rt_runtime_us")
	if err != nil {
		return "next to nothing"
	}
	period, err := t.o.Proc.Sysctl("kernel/sched_rt_period_us")
	if err != nil || period <= 0 || runtime < 0 || runtime >= period {
		return "nothing"
	}
	return fmt.Sprintf("%d %% of it", (period-runtime)*100/period)
}

// several names the first few of many.
func several(names []string) string {
	const shown = 3
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// busy returns the changes whose task was running, or wanted to, for most of
// the window.
func (p *planner) busy(changes []Change) []Change {
	before := make([]demand, len(changes))
	for i, c := range changes {
		before[i] = p.demand(c)
	}
	start := time.Now()
	time.Sleep(busyWindow)
	window := time.Since(start) // much longer than asked for on a starved machine
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
	if k, err := p.t.look(c.PID, c.TID); err == nil {
		d.runnable = k.state == 'R'
	}
	if st, err := p.t.o.Proc.Schedstat(c.PID, c.TID); err == nil {
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
	if i, ok := p.index[changeKey{taskID: taskID{c.TID, c.StartTicks}, attribute: Affinity}]; ok && p.plan.Changes[i].Status == Planned {
		set, _ := cpuset.Parse(p.plan.Changes[i].After)
		return set
	}
	set, _ := p.t.o.Sched.Affinity(c.TID)
	return set
}
