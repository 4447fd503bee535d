package model

import (
	"math"

	"piton/internal/cpuset"
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
