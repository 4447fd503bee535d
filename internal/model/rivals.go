package model

import (
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
)

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
	return contests
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
