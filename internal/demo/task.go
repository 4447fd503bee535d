package demo

import (
	"cmp"
	"math"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/sample"
)

// task is one thread of the machine. Its sample.Task has the figures of this thread
// alone.
type task struct {
	sample.Task
	leader  *task
	threads []*task // of a process, itself first
	allowed []cpuset.CPU
	limit   cpuset.Set // its cgroup's; empty = none
	budget  [2]uint64  // of a DEADLINE task: runtime and period in ns

	want    float64      // CPUs that it would use
	inside  float64      // part of that in the kernel
	period  float64      // seconds of its ups and downs, 0 = steady
	moves   float64      // a second, as long as it may run on several CPUs
	between []cpuset.CPU // that it moves between; nil = where others of its cache are idle
	disk    float64      // share of the time that it waits for a disk
	stopped bool

	needs            float64 // CPUs that it wants in this tick
	got              float64 // that it has had
	on               []cpuset.CPU
	userNs, systemNs float64
	sum              sums // of a process: of all its threads
	changed          bool // since it was published
	published        *sample.Task
}

// sums are the figures in which the row of a process stands for its threads.
type sums struct{ user, system, run, migrations, pingPongs, voluntary, involuntary uint64 }

// have are the figures that every row has.
const have = sample.HaveRun | sample.HaveAffinity | sample.HaveSwitches | sample.HaveMigrations | sample.HaveAttr |
	sample.HaveIOPrio | sample.HavePingPongs | sample.HaveTime

// priority is field 18 of stat.
func priority(p kernel.Policy, nice int8, rtprio uint8) int16 {
	switch {
	case p == kernel.Deadline:
		return -101
	case p.RealTime():
		return -1 - int16(rtprio)
	}
	return 20 + int16(nice)
}

// take gives a task what the fake kernel has of it.
func (t *task) take(now kernelfake.Task) {
	t.Affinity, t.allowed, t.Policy, t.Nice, t.RTPrio = now.Affinity, now.Affinity.CPUs(), now.Attr.Policy, int8(now.Attr.Nice), uint8(now.Attr.RTPrio)
	t.ResetOnFork, t.IOPrio, t.changed, t.leader.changed = now.Attr.ResetOnFork, now.IOPrio, true, true
	t.Priority = priority(t.Policy, t.Nice, t.RTPrio)
}

// wants is what the task would use now, in CPUs: it rises and falls.
func (t *task) wants(seconds float64) float64 {
	if t.stopped {
		return 0
	}
	if t.period == 0 {
		return t.want
	}
	phase := float64(t.TID%97) / 97
	return t.want * (0.75 + 0.25*math.Sin(2*math.Pi*(seconds/t.period+phase)))
}

// ran gives a task its time of the tick.
func (t *task) ran(ns, waited float64) {
	t.userNs += ns * (1 - t.inside)
	t.systemNs += ns * t.inside
	userTicks, systemTicks := uint64(t.userNs/1e7), uint64(t.systemNs/1e7)
	p := &t.leader.sum
	p.user += userTicks - t.UserTicks
	p.system += systemTicks - t.SystemTicks
	p.run += uint64(ns)
	t.UserTicks, t.SystemTicks = userTicks, systemTicks
	t.RunNs += uint64(ns)
	t.RunDelayNs += uint64(waited)
	voluntary, involuntary := uint64(ns/2e6), uint64(waited/3e6)
	t.Slices += voluntary + involuntary + 1
	t.VoluntarySwitches += voluntary + 1
	t.InvoluntarySwitches += involuntary
	p.voluntary += voluntary + 1
	p.involuntary += involuntary
	t.changed, t.leader.changed = true, true
}

// publish returns the row of a thread or, of a process, that of all its threads. One
// that says what it said before is shared with the sample before.
func (t *task) publish() *sample.Task {
	if !t.changed && t.published != nil {
		return t.published
	}
	row := t.Task
	if p := t.sum; t.IsProcess() {
		row.UserTicks, row.SystemTicks, row.RunNs = p.user, p.system, p.run
		row.Migrations, row.PingPongs = p.migrations, p.pingPongs
		row.VoluntarySwitches, row.InvoluntarySwitches = p.voluntary, p.involuntary
		row.Threads = int32(len(t.threads))
		row.Group = t.group()
	}
	t.changed, t.published = false, &row
	return &row
}

// group is what was read of all the threads of a process; nil of one with one thread.
func (t *task) group() *sample.Threads {
	if len(t.threads) < 2 {
		return nil
	}
	g := &sample.Threads{Have: sample.HaveRun | sample.HaveAffinity | sample.HaveAttr}
	for _, th := range t.threads {
		g.List = append(g.List, sample.Thread{TID: th.TID, RunDelayNs: th.RunDelayNs, Slices: th.Slices})
		g.CPUs = g.CPUs.Or(th.Affinity)
		g.AffinityDiffers = g.AffinityDiffers || !th.Affinity.Equal(t.Affinity)
		g.PolicyDiffers = g.PolicyDiffers || th.Policy != t.Policy || th.RTPrio != t.RTPrio
		g.NiceDiffers = g.NiceDiffers || th.Nice != t.Nice
	}
	slices.SortFunc(g.List, func(a, b sample.Thread) int { return cmp.Compare(a.TID, b.TID) })
	return g
}

// free reports whether the task may run on several CPUs.
func (t *task) free() bool { return len(t.allowed) > 1 }

// may reports whether the task may run on a CPU.
func (t *task) may(cpu cpuset.CPU) bool { return t.Affinity.Has(cpu) }

// usable are the CPUs that the task moves between.
func (t *task) usable() []cpuset.CPU {
	return slices.DeleteFunc(slices.Clone(t.between), func(c cpuset.CPU) bool { return !t.may(c) })
}
