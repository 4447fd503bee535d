package sample

import (
	"piton/internal/bpf"
)

// queueScale notes what turns a task's load into its part of CPU.Pressure.
func (b *bpfWalk) queueScale(stats *bpf.WalkStats) {
	b.scale, b.helpers = b.scale[:0], b.helpers[:0]
	for i := range stats.RunQueues {
		b.scale = append(b.scale, float32(stats.RunQueues[i].Decay()/capacity))
		b.helpers = append(b.helpers, 0)
	}
}

// Helper reports whether the task is one of the kernel's own workers at nice -20.
// Each weighs as much as 86 busy tasks for the moment that it runs, which tells
// nothing about the next, so CPU.Pressure leaves them out.
func (t *Task) Helper() bool { return t.IsKernel() && t.Nice < 0 }

// help notes the load of a helper.
func (b *bpfWalk) help(t *Task) {
	if t.Helper() {
		b.helpers[t.LastCPU] += t.Pressure
	}
}

// capacity is the load of a CPU that is always busy at nice 0.
const capacity = 1024

// pressure sets the run queues' load in CPUs.
func pressure(cpus []CPU, w *walk) {
	if !w.haveQueues {
		return
	}
	for i := range cpus {
		c := &cpus[i]
		if int(c.ID) < len(w.queues) && w.queues[c.ID].OK {
			q := &w.queues[c.ID]
			c.Pressure = max(0, float32(q.Load()/capacity)-w.helpers[c.ID])
			c.Queued, c.HavePressure = q.Running, true
		}
	}
}
