package detail

import (
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
)

// historyLen is how many ticks the bounce chart can show.
const historyLen = 240

// History is the CPU that one task was on, tick by tick, for longer than the
// model keeps it for every task.
type History struct {
	tid   kernel.TID
	start uint64
	seq   uint64
	cpus  []cpuset.CPU // oldest first
}

// Note adds the row's newest tick. Another task than the last one begins a new
// history with what the model has of it.
func (h *History) Note(row field.Row) {
	task, bounce := row.Task(), &row.Rates().Bounce
	if task.TID != h.tid || task.StartTicks != h.start {
		*h = History{tid: task.TID, start: task.StartTicks, seq: row.M.Sample.Seq}
		for _, cpu := range bounce {
			if cpu >= 0 {
				h.cpus = append(h.cpus, cpuset.CPU(cpu))
			}
		}
		return
	}
	if row.M.Sample.Seq == h.seq {
		return
	}
	h.seq = row.M.Sample.Seq
	if newest := bounce[model.BounceLen-1]; newest >= 0 {
		h.cpus = append(h.cpus, cpuset.CPU(newest))
	}
	if len(h.cpus) > historyLen {
		h.cpus = append(h.cpus[:0], h.cpus[len(h.cpus)-historyLen:]...)
	}
}
