package demo

import (
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/tui/whyview"
	"piton/internal/watch"
	"piton/internal/why"
)

// waits is what targets waited for since it was last taken: a whyview.Session of the machine.
type waits struct {
	*Machine
	targets watch.Targets
	o       why.Observation
	by      map[why.By]*why.Waited
}

// observe begins to add up what targets wait for.
func (m *Machine) observe(t watch.Targets) (whyview.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &waits{Machine: m, targets: t}
	w.restart()
	m.waits = append(m.waits, w)
	return w, nil
}

func (w *waits) restart() { w.o, w.by = why.Observation{}, map[why.By]*why.Waited{} }

// Close is part of whyview.Session.
func (w *waits) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Machine.waits = slices.DeleteFunc(w.Machine.waits, func(o *waits) bool { return o == w })
}

// Look is part of whyview.Session.
func (w *waits) Look() (left bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closed:
		return false, nil
	default:
		return len(w.threads()) > 0, nil
	}
}

// threads are those of the targets.
func (w *waits) threads() (out []*task) {
	for _, id := range w.targets.IDs {
		switch t := w.byTID[id]; {
		case t == nil:
		case w.targets.Scope == watch.Thread:
			out = append(out, t)
		default:
			out = append(out, t.leader.threads...)
		}
	}
	return out
}

// waited is how long a task wanted to run in a tick and did not: for others, and for its CPU to wake.
func (t *task) waited(dt time.Duration) (others, waking time.Duration) {
	if t.got == 0 {
		return 0, 0
	}
	return time.Duration(max(0, t.needs-t.got) * float64(dt)), time.Duration(t.got * 0.002 * float64(dt))
}

// note adds a tick.
func (w *waits) note(dt time.Duration) {
	threads := w.threads()
	w.o.Span, w.o.Threads = w.o.Span+dt, max(w.o.Threads, len(threads))
	w.o.Cost += dt / 500
	for _, t := range threads {
		if t.want == 0 {
			continue
		}
		others, waking := t.waited(dt)
		w.o.Ran += time.Duration(t.got * float64(dt))
		w.add(t, why.By{Cause: why.Waking}, waking)
		w.divide(t, others)
		if idle := w.idleBeside(t); !idle.Empty() {
			w.o.Avoidable.Mask, w.o.Avoidable.Idle = w.o.Avoidable.Mask+others/2, w.o.Avoidable.Idle.Or(idle)
		}
	}
}

// idleBeside are idle CPUs that a task's mask leaves out.
func (w *waits) idleBeside(t *task) (idle cpuset.Set) {
	for i := range w.cpus {
		if c := &w.cpus[i]; c.demand < 0.05 && !t.may(c.ID) {
			idle = idle.Or(cpuset.Of(c.ID))
		}
	}
	return idle
}

// divide has a wait be for what had the task's CPUs meanwhile, by its shares of them.
func (w *waits) divide(t *task, all time.Duration) {
	type part struct {
		why.By
		share float64
	}
	var parts []part
	sum := 0.0
	add := func(by why.By, share float64) {
		if share > 0 {
			parts, sum = append(parts, part{by, share}), sum+share
		}
	}
	for _, id := range t.on {
		c := &w.cpus[id]
		for i := range c.queue {
			if q := &c.queue[i]; q.task != t {
				add(by(t, q.task), q.got)
			}
		}
		for _, l := range w.lines {
			if l.cpu == id {
				add(why.By{Cause: why.Kernel, Command: "irq " + l.action}, float64(l.raised)*hardNs/1e9)
			}
		}
		add(why.By{Cause: why.Kernel, Command: "softirq NET_RX"}, c.soft)
		add(why.By{Cause: why.Host}, c.steal)
	}
	for _, p := range parts {
		w.add(t, p.By, time.Duration(float64(all)*p.share/sum))
	}
	if sum == 0 {
		w.add(t, why.By{Cause: why.Waking}, all)
	}
}

// by is another task that had the CPU of a task.
func by(t, other *task) why.By {
	by := why.By{Group: other.ID.Cgroup, Command: other.leader.ID.Comm, PID: other.TGID, Policy: other.Policy, Priority: int(other.RTPrio)}
	switch {
	case other.leader == t.leader:
		return why.By{Cause: why.Self, Command: by.Command, PID: by.PID}
	case other.Policy.RealTime():
		by.Cause = why.RealTime
	case other.Flags&sample.FlagKernelThread != 0:
		by.Cause = why.Kernel
	default:
		by.Cause = why.Neighbour
	}
	return by
}

// turn is how long a task waits for another as a rule. One wait in ten is long, one in three short.
const turn = 3 * time.Millisecond

func (w *waits) add(t *task, by why.By, d time.Duration) {
	if d <= 0 {
		return
	}
	length := turn
	if by.Cause == why.Waking || by.Cause == why.Kernel {
		length = 40 * time.Microsecond
	}
	part := why.Waited{By: by, Time: d, Waits: uint64(d/length) + 1}
	part.Longest = min(3*length, d)
	part.Bins[why.Bin(uint64(length/4))] = part.Waits / 3
	part.Bins[why.Bin(uint64(part.Longest))] = part.Waits/10 + 1
	part.Bins[why.Bin(uint64(min(length, d)))] += part.Waits - min(part.Waits/3+part.Waits/10+1, part.Waits)
	if sum := w.by[by]; sum != nil {
		sum.Time, sum.Waits, sum.Longest = sum.Time+part.Time, sum.Waits+part.Waits, max(sum.Longest, part.Longest)
		sum.Bins.Add(&part.Bins)
	} else {
		w.by[by] = &part
	}
	w.o.Waited += d
	bins := &w.o.Woken
	if by.Cause == why.Neighbour {
		bins = &w.o.Preempted
	}
	bins.Add(&part.Bins)
	if part.Longest > w.o.Longest.Time {
		w.o.Longest = why.LongestWait{TID: t.TID, CPU: cpuset.CPU(t.LastCPU), Time: part.Longest, End: w.count.Began.Add(w.count.Now),
			Parts: []why.Waited{{By: by, Time: part.Longest}}}
	}
}

// Take is part of whyview.Session.
func (w *waits) Take() (why.Observation, *why.Target, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.o
	for _, part := range w.by {
		o.By = append(o.By, *part)
	}
	why.SortWaited(o.By)
	w.restart()
	return o, w.target(&o), nil
}

// target is what is known of the targets. Tasks of this machine compete one by one.
func (w *waits) target(o *why.Observation) *why.Target {
	all := w.all()
	t := &why.Target{Pressure: -1, Sleeps: "ep_poll", Rivals: map[kernel.TID]why.Rival{}, IRQs: map[string]why.IRQ{},
		Machine: why.Machine{Online: all, Rule: "nice alone counts"}, Rights: why.Rights{Tasks: true, Groups: true, IRQs: true}}
	within := func(of *task) cpuset.Set {
		if of.limit.Empty() {
			return all
		}
		return of.limit
	}
	for _, th := range w.threads() {
		t.Threads = append(t.Threads, why.Thread{TID: th.TID, PID: th.TGID, Comm: th.ID.Comm, Allowed: th.Affinity, Cpuset: within(th)})
		t.Owner = procfs.OwnerOf(th.ID.Cgroup)
	}
	for _, part := range o.By {
		if of := w.byTID[part.PID]; of != nil && part.Cause != why.Self {
			t.Rivals[part.PID] = why.Rival{Allowed: of.Affinity, Cpuset: within(of), Comm: of.ID.Comm, Nice: int(of.Nice),
				Bound: of.Flags&sample.FlagNoSetAffinity != 0}
		}
	}
	for _, l := range w.lines {
		t.IRQs["irq "+l.action] = why.IRQ{Number: l.number, Bound: l.control != irq.Settable}
	}
	return t
}
