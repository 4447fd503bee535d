package partition

import (
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// family finds what became of the masks of tasks, those included that were born
// after CPUs were isolated and have their masks from their elders.
type family struct {
	past    *History
	leaders map[kernel.TID]*Task
}

func newFamily(tasks []Task, past *History) family {
	f := family{past: past, leaders: map[kernel.TID]*Task{}}
	for i := range tasks {
		if t := &tasks[i]; t.TID == t.PID {
			f.leaders[t.PID] = t
		}
	}
	return f
}

// maxElders bounds the search where numbers are reused while tasks are listed.
const maxElders = 256

// item returns what became of a task's mask, nil if it is its own affair. A task
// that was born with what an isolate left of its parent's mask would have had
// the parent's whole mask; where the parent has ended, that of who adopted it.
func (f family) item(t *Task) *item { return f.find(t, maxElders) }

func (f family) find(t *Task, most int) *item {
	own := f.past.items[t.key()]
	born := f.past.before(t.StartTicks)
	if born < 0 || most == 0 || t.Flags&flagNoSetAffinity != 0 {
		return own
	}
	first := t.Mask // that it was born with
	if own != nil {
		first = own.before
	}
	if before, ok := f.inherited(t, first, born, most); ok {
		steps := []step{{born, first, true}}
		if own != nil {
			steps = own.steps
		}
		return &item{before: before, steps: steps}
	}
	return own
}

// inherited looks for the nearest elder that had the mask when the task was
// born, not by its own choice, and returns what it had before all isolates.
func (f family) inherited(t *Task, mask cpuset.Set, born, most int) (before cpuset.Set, ok bool) {
	pid := t.PID
	if t.TID == t.PID {
		pid = t.PPID
	}
	for ; most > 0; most-- {
		elder := f.leaders[pid]
		if elder == nil {
			return before, false
		}
		i := f.find(elder, most-1)
		if i != nil && i.asOf(born).Equal(mask) && !i.before.Equal(mask) {
			return i.before, true
		}
		if i == nil && elder.Mask.Equal(mask) {
			return before, false // it has the mask of its own accord, and the task has it from there
		}
		pid = elder.PPID
	}
	return before, false
}
