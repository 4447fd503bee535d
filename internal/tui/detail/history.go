package detail

import (
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
)

// historyLen is how many ticks the bounce chart can show.
const historyLen = 240

// history is the CPU that one thread was on, tick by tick, for longer than the
// model keeps it for every task.
type history struct {
	tid   kernel.TID
	start uint64
	seq   uint64
	cpus  []cpuset.CPU // oldest first
}

// note adds the newest tick of a process's or thread's row. Another task than the last one begins a new
// history with what the model has of it.
func (h *history) note(row field.Row) {
	task, bounce := row.Task(), &row.Rates().Bounce
	if task.TID != h.tid || task.StartTicks != h.start {
		*h = history{tid: task.TID, start: task.StartTicks, seq: row.M.Sample.Seq}
		for _, cpu := range bounce {
			if cpu >= 0 {
				h.cpus = append(h.cpus, cpuset.CPU(cpu))
			}
		}
		return
	}
	if newest := bounce[model.BounceLen-1]; newest >= 0 {
		h.add(cpuset.CPU(newest), row.M.Sample.Seq)
	}
}

// add adds a tick, once for each sample.
func (h *history) add(cpu cpuset.CPU, seq uint64) {
	if seq == h.seq {
		return
	}
	h.seq = seq
	h.cpus = append(h.cpus, cpu)
	if len(h.cpus) > historyLen {
		h.cpus = append(h.cpus[:0], h.cpus[len(h.cpus)-historyLen:]...)
	}
}
