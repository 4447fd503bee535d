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

// item returns what became of a task's mask, nil if no isolate or include made it. A task
// that was born with what an isolate left of its parent's mask would have had
// the parent's whole mask; where the parent has ended, that of its new parent.
func (f family) item(t *Task) *item { return f.find(t, maxElders) }

func (f family) find(t *Task, most int) *item {
	own := f.past.items[t.key()]
	born := f.past.before(t.StartTicks)
	if born < 0 || most == 0 || !t.Movable() {
		return own
	}
	first := t.Mask // that it was born with
	if own != nil {
		first = own.before
	}
	ancestor := f.inherited(t, first, born, most)
	if ancestor == nil {
		return own
	}
	it := item{before: ancestor.before}
	for _, s := range ancestor.steps {
		if s.event <= born {
			it.steps = append(it.steps, s)
		}
	}
	if own != nil {
		it.steps = append(it.steps, own.steps...)
	}
	if len(it.steps) == 0 {
		return own
	}
	return &it
}

// inherited looks for the nearest ancestor that had the mask when the task was
// born, not by its own choice, and returns what became of its mask.
func (f family) inherited(t *Task, mask cpuset.Set, born, most int) *item {
	pid := t.PID
	if t.TID == t.PID {
		pid = t.PPID
	}
	for ; most > 0; most-- {
		ancestor := f.leaders[pid]
		if ancestor == nil {
			return nil
		}
		i := f.find(ancestor, most-1)
		if i != nil && i.asOf(born).Equal(mask) {
			return i
		}
		if i == nil && ancestor.Mask.Equal(mask) {
			return nil // it has the mask of its own accord, and the task has it from there
		}
		pid = ancestor.PPID
	}
	return nil
}
