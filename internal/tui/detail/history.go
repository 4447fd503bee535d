package detail

import (
	"slices"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/tui/proctable"
)

// historyLen is how many ticks the bounce chart can show.
const historyLen = 240

// history is the CPU that one thread was on, tick by tick, for longer than the
// model keeps it for every task.
type history struct {
	of   proctable.Key
	seq  uint64
	cpus []cpuset.CPU // oldest first
}

// note adds the newest tick of a process's or thread's row, once for each sample.
// Another task than the last one begins a new history with what the model has of it.
func (h *history) note(row field.Row) {
	of, cpus := proctable.KeyOf(row.Task()), row.Rates().Bounce[:]
	switch {
	case of != h.of:
		*h = history{of: of}
	case row.M.Sample.Seq == h.seq:
		return
	default:
		cpus = cpus[model.BounceLen-1:]
	}
	h.seq = row.M.Sample.Seq
	for _, cpu := range cpus {
		if cpu >= 0 {
			h.cpus = append(h.cpus, cpuset.CPU(cpu))
		}
	}
	h.cpus = slices.Delete(h.cpus, 0, max(len(h.cpus)-historyLen, 0))
}
