package model

import (
	"math"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
)

// busyThread is the CPU percentage from which a thread counts as busy.
const busyThread = 10

// Loads returns what internal/place decides from, one Load per CPU of the
// sample in its order; a CPU that was not online for the whole interval is left
// out, and nothing is known before the second sample.
//
// Work and run delay of tasks are added up where they were last, nice > 0 tasks
// left out: a task at nice 0 hardly waits for them. Where the work of a process
// with several threads was done is known only if the sample has its threads.
func (m *Model) Loads() []place.Load {
	if m.Elapsed == 0 {
		return nil
	}
	work, fixed, delay := m.byCPU()
	loads := make([]place.Load, 0, len(m.CPUs))
	for i := range m.CPUs {
		c := &m.CPUs[i]
		if !Known(c.Busy) {
			continue
		}
		loads = append(loads, place.Load{
			CPU:      c.ID,
			Busy:     float64(c.Busy - c.Nice),
			RunDelay: delay[i],
			Resident: work[i],
			Fixed:    fixed[i],
			IRQ:      float64(c.IRQ + c.SoftIRQ),
			Pinned:   c.Pinned,
			RTBusy:   c.RT >= 0 && m.Tasks[c.RT].CPUPercent >= busyThread,
			Pressure: float64(m.Sample.CPUs[i].Pressure), HavePressure: m.Sample.CPUs[i].HavePressure,
		})
	}
	return loads
}

// byCPU is what tasks did on each CPU, what those of them did that may run nowhere
// else, and how long they waited there, in seconds per second, aligned with CPUs.
func (m *Model) byCPU() (work, fixed, delay []float64) {
	n := len(m.CPUs)
	work, fixed, delay = make([]float64, n), make([]float64, n), make([]float64, n)
	index := m.cpuIndex()
	others := map[kernel.TID]float64{} // by process, what its threads with a row did
	type first struct {
		t   *sample.Task
		c   int32
		did float64
	}
	var firsts []first // of processes with several threads: what they all did
	threads := m.Counts.Processes < len(m.Tasks)
	for i := range m.Tasks {
		r := &m.Tasks[i]
		waited := r.DelayPercent > 0
		if !waited && !(r.CPUPercent > 0) {
			continue
		}
		t := m.Sample.Tasks[i]
		if !t.IsProcess() && r.CPUPercent > 0 {
			others[t.TGID] += float64(r.CPUPercent) / 100
		}
		if t.Nice > 0 || t.LastCPU < 0 || int(t.LastCPU) >= len(index) {
			continue
		}
		c := index[t.LastCPU] - 1
		if c < 0 {
			continue
		}
		if waited {
			delay[c] += float64(r.DelayPercent) / 100
		}
		if !(r.CPUPercent > 0) {
			continue
		}
		did := float64(r.CPUPercent) / 100
		if t.IsProcess() && t.Threads > 1 {
			firsts = append(firsts, first{t, c, did})
			continue
		}
		work[c] += did
		if pinned(t) {
			fixed[c] += did
		}
	}
	for _, f := range firsts {
		did := max(0, f.did-others[f.t.TID])
		if threads {
			work[f.c] += did
		}
		if pinned(f.t) { // without their rows, its threads are taken to be pinned as it is
			fixed[f.c] += did
		}
	}
	return work, fixed, delay
}

// pinned reports whether the task may run on one CPU only.
func pinned(t *sample.Task) bool {
	return t.Have&sample.HaveAffinity != 0 && t.Affinity.First() == t.Affinity.Last()
}

// PlaceTarget describes task i for internal/place. Allowed is every online CPU:
// the caller cuts it to the task's cpuset.
func (m *Model) PlaceTarget(i int) place.Target {
	t, r := m.Sample.Tasks[i], &m.Tasks[i]
	target := place.Target{TID: t.TID, Comm: t.ID.Comm, LastCPU: cpuset.CPU(t.LastCPU), HomeNode: -1}
	if m.Topology != nil {
		target.Allowed = m.Topology.Online
	}
	if r.DelayPercent > 0 {
		target.Delay = map[cpuset.CPU]float64{target.LastCPU: float64(r.DelayPercent) / 100}
	}
	m.addPressure(&target, t, r)
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

// addPressure notes what a task itself adds to the run queues. The average of
// real-time tasks is not kept by task: theirs is the time that they use.
func (m *Model) addPressure(target *place.Target, t *sample.Task, r *Task) {
	if t.Have&sample.HavePressure == 0 {
		return
	}
	rest := pressure(t, r)
	target.Pressure = map[cpuset.CPU]float64{}
	if t.IsProcess() && t.Threads > 1 {
		threads := 1
		for i := range m.Sample.Tasks {
			if o := m.Sample.Tasks[i]; o.TGID == t.TID && !o.IsProcess() {
				own := pressure(o, &m.Tasks[i])
				target.Pressure[cpuset.CPU(o.LastCPU)] += own
				rest -= own
				threads++
			}
		}
		if threads == 1 { // the sample has no threads: nobody knows where they are
			target.Pressure[-1] = rest
			return
		}
	}
	target.Pressure[target.LastCPU] += max(rest, 0)
}

func pressure(t *sample.Task, r *Task) float64 {
	if t.Policy.RealTime() {
		if r.CPUPercent > 0 {
			return float64(r.CPUPercent) / 100
		}
		return 0
	}
	return float64(t.Pressure)
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
		if r.DelayPercent > 0 {
			if target.Delay == nil {
				target.Delay = map[cpuset.CPU]float64{}
			}
			target.Delay[cpuset.CPU(t.LastCPU)] += float64(r.DelayPercent) / 100
		}
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

// A CPU is much better than another from this on, in CPUs' worth of load; a
// smaller difference has to last that many ticks.
const (
	muchBetter = 0.5
	lastTicks  = 3
)

// leastLoaded is the CPU that a new task would be given, -1 when nothing is known.
// On a machine that is nearly idle the least loaded of one second is hardly ever
// that of the next, so a mark that has a place keeps it for a while.
func (m *Model) leastLoaded(prev *Model) cpuset.CPU {
	loads := m.Loads()
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
