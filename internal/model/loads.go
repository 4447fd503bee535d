package model

import (
	"math"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
)

// busyThread is the CPU percentage from which a thread counts as busy.
const busyThread = 10

// Groups says which task group a task is in, as sample.Groups reads it; nil takes
// all to be in the root group, without a look.
type Groups func(*sample.Task) *place.Group

// Loads returns what internal/place decides from, one Load per CPU of the
// sample in its order; a CPU that was not online for the whole interval is left
// out, and nothing is known before the second sample.
func (m *Model) Loads(groups Groups) []place.Load {
	if m.Elapsed == 0 {
		return nil
	}
	contests := m.contests(groups)
	loads := make([]place.Load, 0, len(m.CPUs))
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if !Known(c.Busy) {
			continue
		}
		l := place.Load{
			CPU:    c.ID,
			Busy:   float64(c.Busy),
			IRQ:    float64(c.IRQ + c.SoftIRQ),
			Steal:  float64(c.Steal),
			Rivals: contests[i].rivals,
			Fixed:  contests[i].fixed,
			Pinned: c.Pinned,
			RTBusy: c.RT >= 0 && m.Tasks[c.RT].CPUPercent >= busyThread,
		}
		if now := &m.Sample.CPUs[i]; now.HavePressure {
			// Pressure has real time and interrupts in it, as shares of the CPU.
			l.Rest = max(0, float64(now.Pressure)-contests[i].load-l.IRQ)
			l.RestNiced = max(0, float64(c.Nice)-contests[i].niced)
		}
		loads = append(loads, l)
	}
	return loads
}

// PlaceTarget describes task i for internal/place. Allowed is every online CPU:
// the caller cuts it to the task's cpuset, and says which group it is in.
func (m *Model) PlaceTarget(i int) place.Target {
	t, r := m.Sample.Tasks[i], &m.Tasks[i]
	target := place.Target{TID: t.TID, Comm: t.ID.Comm, LastCPU: cpuset.CPU(t.LastCPU), HomeNode: -1,
		Weight: place.Weight(t.Policy, int(t.Nice)), RealTime: t.Policy.RealTime()}
	if m.Topology != nil {
		target.Allowed = m.Topology.Online
	}
	if !(r.CPUPercent > 0) {
		return target
	}
	target.BusyShare = float64(r.CPUPercent) / 100
	if t.IsProcess() && t.Threads > 1 {
		m.addThreads(&target, t)
		return target
	}
	target.Share = map[cpuset.CPU]float64{target.LastCPU: target.BusyShare}
	if r.CPUPercent >= busyThread {
		target.BusyThreads = 1
	}
	return target
}

// addThreads adds up a process's threads. A sample without threads does not
// tell where they ran; their number is then the fewest that can have used so
// much time.
func (m *Model) addThreads(target *place.Target, p *sample.Task) {
	rest, alone := target.BusyShare, true // what the other threads leave is the first one's
	target.Share = map[cpuset.CPU]float64{}
	for i := range m.Sample.Tasks {
		t, r := m.Sample.Tasks[i], &m.Tasks[i]
		if t.TGID != p.TID || t.IsProcess() {
			continue
		}
		alone = false
		if r.CPUPercent > 0 {
			used := float64(r.CPUPercent) / 100
			rest -= used
			addShare(target, cpuset.CPU(t.LastCPU), used)
		}
	}
	if !alone {
		addShare(target, target.LastCPU, max(rest, 0))
		return
	}
	target.Share[-1] = target.BusyShare
	if target.BusyShare*100 >= busyThread {
		target.BusyThreads = int(math.Ceil(target.BusyShare))
	}
}

func addShare(target *place.Target, cpu cpuset.CPU, used float64) {
	target.Share[cpu] += used
	if used*100 >= busyThread {
		target.BusyThreads++
	}
}

// A CPU is much better than another from this gain of place.Best on, which is
// that of an idle one over one two thirds busy; a smaller one has to last that many
// ticks.
const (
	muchBetter = 0.5
	lastTicks  = 3
)

// IdlestBelow is the busy share below which LeastLoaded may be called the idlest CPU on a
// screen: a busy one is not, though there may be no better one.
const IdlestBelow = 0.6

// leastLoaded is the CPU that a new task would be given, -1 when nothing is known.
// On a machine that is nearly idle the least loaded of one second is hardly ever
// that of the next, so a mark that has a place keeps it for a while.
func (m *Model) leastLoaded(prev *Model) cpuset.CPU {
	loads := m.Loads(nil)
	if m.Topology == nil || len(loads) == 0 {
		return -1
	}
	if prev == nil {
		prev = &Model{LeastLoaded: -1}
	}
	best, gain := place.Best(m.Topology, loads, prev.LeastLoaded)
	if best == prev.LeastLoaded {
		return best
	}
	if m.doubted = prev.doubted + 1; gain < muchBetter && m.doubted < lastTicks {
		return prev.LeastLoaded
	}
	m.doubted = 0
	return best
}

// contest is what the tasks seen last on one CPU did.
type contest struct {
	rivals []place.Rival
	niced  float64 // what those at nice > 0 used, in CPUs
	load   float64 // their part of CPU.Pressure
	fixed  float64 // what those used that may run nowhere else, in CPUs
}

// did is what tasks used, in CPUs, and their part of the run queues' load.
type did struct{ used, load float64 }

// contests are the tasks that ran or waited, by the CPU they were on last, aligned
// with CPUs. The row of a process stands for all its threads in time and load: its
// first thread did what the others did not, and where they did it is known only
// if the sample has them.
func (m *Model) contests(groups Groups) []contest {
	active, room, others := m.active()
	contests := make([]contest, len(m.CPUs))
	all := make([]place.Rival, len(active))
	for i, n := range room {
		contests[i].rivals, all = all[:0:n], all[n:]
	}
	hidden := m.Counts.Processes == len(m.Tasks)
	for _, i := range active {
		t := m.Sample.Tasks[i]
		d := rowDid(t, &m.Tasks[i])
		several := t.IsProcess() && t.Threads > 1
		if several {
			o := others[t.TID]
			d = did{max(0, d.used-o.used), max(0, d.load-o.load)}
		}
		c := &contests[m.indexOf(cpuset.CPU(t.LastCPU))]
		if pinned(t) { // without their rows, its threads are taken to be pinned as it is
			c.fixed += d.used
		}
		if several && hidden {
			continue
		}
		c.load += d.load
		if t.Nice > 0 {
			c.niced += d.used
		}
		r := place.Rival{TID: t.TID, Process: t.TGID, Used: min(1, d.used), Queued: min(1, d.used+m.Tasks[i].waited()),
			Weight: place.Weight(t.Policy, int(t.Nice)), RealTime: t.Policy.RealTime()}
		if groups != nil {
			r.Group = groups(t)
		}
		c.rivals = append(c.rivals, r)
	}
	for i := range contests {
		contests[i].releaseHeldBack(m.Elapsed.Seconds(), float64(m.CPUs[i].Busy))
	}
	return contests
}

// severalTurns is the seconds of some turns of a CPU: one is a slice or a tick, 3 to 10 ms
// (Documentation/scheduler/sched-eevdf.rst).
const severalTurns = 0.02

// heldBack is the part of what was due to a task below which it was held back: one that comes
// and goes has less than is due to one that is always there.
const heldBack = 1. / 3

// releaseHeldBack takes a task that waited for much less than its weight had coming, of what
// its control group had in the window (s), to have been queued only for as long as that takes:
// it is no rival that keeps it off the CPU, and it keeps nobody off. A quota (cpu.max) does
// that, and Linux 6.18 to kernel threads beside groups whose weight changes, for seconds.
func (c *contest) releaseHeldBack(window, busy float64) {
	waited := func(r place.Rival) bool {
		return !r.RealTime && r.Used < heldBack*r.Queued && (r.Queued-r.Used)*window >= severalTurns
	}
	if !slices.ContainsFunc(c.rivals, waited) {
		return
	}
	type shared struct{ weights, used float64 }
	groups := map[*place.Group]*shared{nil: {0, busy}} // the root's has the others in it
	unseen := busy
	for i := range c.rivals {
		r := &c.rivals[i]
		unseen -= r.Used
		if r.RealTime {
			groups[nil].used -= r.Used
			continue
		}
		groups[nil].weights += r.Weight * r.Queued
		if g := r.Group; g != nil {
			if groups[g] == nil {
				groups[g] = &shared{}
			}
			groups[g].weights += r.Weight * r.Queued
			groups[g].used += r.Used
		}
	}
	groups[nil].weights += place.NiceZero * max(0, unseen)
	for i := range c.rivals {
		r := &c.rivals[i]
		if !waited(*r) {
			continue
		}
		g := groups[r.Group]
		due := min(1, g.used*r.Weight/g.weights) // of the time in which it was queued
		if r.Used < heldBack*due*r.Queued && (due*r.Queued-r.Used)*window >= severalTurns {
			r.Queued = max(r.Used, r.Used/due)
		}
	}
	c.rivals = slices.DeleteFunc(c.rivals, func(r place.Rival) bool { return r.Queued == 0 })
}

// active are the tasks that ran or waited and were last on a CPU of the sample,
// and how many they are on each; and by process, what its threads with a row did.
func (m *Model) active() (active []int32, room []int, others map[kernel.TID]did) {
	room, others = make([]int, len(m.CPUs)), map[kernel.TID]did{}
	for i := range m.Tasks {
		r := &m.Tasks[i]
		if !(r.CPUPercent > 0) && !(r.ownDelay > 0) && !r.starved {
			continue
		}
		t := m.Sample.Tasks[i]
		if !t.IsProcess() {
			d, o := rowDid(t, r), others[t.TGID]
			others[t.TGID] = did{o.used + d.used, o.load + d.load}
		}
		if at := m.indexOf(cpuset.CPU(t.LastCPU)); at >= 0 {
			active = append(active, int32(i))
			room[at]++
		}
	}
	return active, room, others
}

// rowDid is what one row says. The kernel has no average by task of real time: that
// of the class counts time.
func rowDid(t *sample.Task, r *Task) (d did) {
	if r.CPUPercent > 0 {
		d.used = float64(r.CPUPercent) / 100
	}
	switch {
	case t.Policy.RealTime():
		d.load = d.used
	case !t.Helper():
		d.load = float64(t.Pressure)
	}
	return d
}

// waited is the share of the interval in which the task was queued behind others.
func (t *Task) waited() float64 {
	switch {
	case t.starved:
		return 1
	case t.ownDelay > 0:
		return float64(t.ownDelay) / 100
	}
	return 0
}

// pinned reports whether the task may run on one CPU only.
func pinned(t *sample.Task) bool {
	return t.Have&sample.HaveAffinity != 0 && t.Affinity.First() == t.Affinity.Last()
}
