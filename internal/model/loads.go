package model

import (
	"math"

	"piton/internal/cpuset"
	"piton/internal/place"
	"piton/internal/sample"
)

// busyThread is the CPU percentage from which a thread counts as busy.
const busyThread = 10

// Loads returns what internal/place decides from, one Load per CPU of the
// sample in its order; a CPU that was not online for the whole interval is left
// out, and nothing is known before the second sample.
//
// Run delay is added up where the waiting tasks were last, nice > 0 tasks left
// out: a task at nice 0 hardly waits for them. Of processes only the first
// thread's is known unless the sample has threads.
func (m *Model) Loads() []place.Load {
	if m.Elapsed == 0 {
		return nil
	}
	delay, resident := m.byLastCPU()
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
			Resident: resident[i],
			IRQ:      float64(c.IRQ + c.SoftIRQ),
			Pinned:   c.Pinned,
			RTBusy:   c.RT >= 0 && m.Tasks[c.RT].CPUPercent >= busyThread,
		})
	}
	return loads
}

// byLastCPU adds up the run delay of the tasks seen last on each CPU, in seconds
// per second, and their work, in CPUs' worth; aligned with CPUs.
func (m *Model) byLastCPU() (delay, resident []float64) {
	delay, resident = make([]float64, len(m.CPUs)), make([]float64, len(m.CPUs))
	index := m.cpuIndex()
	for i := range m.Tasks {
		t := &m.Sample.Tasks[i]
		if t.Nice > 0 || t.LastCPU < 0 || int(t.LastCPU) >= len(index) {
			continue
		}
		c := index[t.LastCPU]
		if c <= 0 {
			continue
		}
		if d := m.Tasks[i].DelayPercent; d > 0 {
			delay[c-1] += float64(d) / 100
		}
		// A process's figure is that of all its threads, wherever they ran.
		if used := m.Tasks[i].CPUPercent; used > 0 && (!t.IsProcess() || t.Threads <= 1) {
			resident[c-1] += float64(used) / 100
		}
	}
	return delay, resident
}

// PlaceTarget describes task i for internal/place. Allowed is every online CPU:
// the caller cuts it to the task's cpuset.
func (m *Model) PlaceTarget(i int) place.Target {
	t, r := &m.Sample.Tasks[i], &m.Tasks[i]
	target := place.Target{TID: t.TID, Comm: t.ID.Comm, LastCPU: cpuset.CPU(t.LastCPU), HomeNode: -1}
	if m.Topology != nil {
		target.Allowed = m.Topology.Online
	}
	if !(r.CPUPercent > 0) {
		return target
	}
	target.BusyShare = float64(r.CPUPercent) / 100
	if t.IsProcess() && t.Threads > 1 {
		m.addThreads(&target, t)
	} else {
		target.Share = map[cpuset.CPU]float64{target.LastCPU: target.BusyShare}
		if r.DelayPercent > 0 {
			target.Delay = map[cpuset.CPU]float64{target.LastCPU: float64(r.DelayPercent) / 100}
		}
		if r.CPUPercent >= busyThread {
			target.BusyThreads = 1
		}
	}
	if t.Nice > 0 { // no part of its work is in the loads
		target.Share, target.Delay = nil, nil
	}
	return target
}

// addThreads adds up a process's threads. A sample without threads does not
// tell where they ran; their number is then the fewest that can have used so
// much time.
func (m *Model) addThreads(target *place.Target, p *sample.Task) {
	first := target.BusyShare // what the other threads leave is the first one's
	share, delay := map[cpuset.CPU]float64{}, map[cpuset.CPU]float64{}
	add := func(used float64, cpu cpuset.CPU) {
		share[cpu] += used
		if used*100 >= busyThread {
			target.BusyThreads++
		}
	}
	for i := range m.Sample.Tasks {
		t := &m.Sample.Tasks[i]
		if t.TGID != p.TID || t.IsProcess() || !(m.Tasks[i].CPUPercent > 0) {
			continue
		}
		used := float64(m.Tasks[i].CPUPercent) / 100
		first -= used
		add(used, cpuset.CPU(t.LastCPU))
		if d := m.Tasks[i].DelayPercent; d > 0 {
			delay[cpuset.CPU(t.LastCPU)] += float64(d) / 100
		}
	}
	if len(share) > 0 {
		add(max(first, 0), target.LastCPU)
		target.Share, target.Delay = share, delay
		return
	}
	target.Share = map[cpuset.CPU]float64{-1: target.BusyShare}
	if target.BusyShare*100 >= busyThread {
		target.BusyThreads = int(math.Ceil(target.BusyShare))
	}
}

// leastLoaded is the CPU of the least load for a task that is on none yet.
func (m *Model) leastLoaded() cpuset.CPU {
	if m.Topology == nil {
		return -1
	}
	return place.Best(m.Topology, m.Loads())
}
