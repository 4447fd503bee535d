package change

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/kernel"
)

// bornSince adds the steps of tasks that were born since an entry was made and have exactly what
// it set: threads of the processes that it changed, and their children. All others are left alone,
// and named. It is not asked from whom a task has its value (fork(2), sched(7)). partly: some of what
// the entry set stays, and is not looked for.
func (u *undoer) bornSince(e *Entry, set []Change, partly bool) error {
	type part struct {
		pid       kernel.TID
		attribute attr.Attribute
	}
	own, parts, order := map[attr.Key]bool{}, map[part][]Change{}, []part{}
	for _, c := range set {
		own[c.Key()] = true
		if p := (part{c.PID, c.Attribute}); !c.IsFile() && !c.Attribute.OfProcess() && (!c.Same() || len(c.Tried) > 0) {
			if parts[p] == nil {
				order = append(order, p)
			}
			parts[p] = append(parts[p], c)
		}
	}
	if len(order) == 0 {
		return nil
	}
	if err := u.family.readChildren(); err != nil {
		return fmt.Errorf("look for tasks born since entry %d: %w", e.ID, err)
	}
	var others []Change
	for _, p := range order {
		models := u.family.same(parts[p], p.pid)
		if len(models) == 0 {
			continue // a later process has the number
		}
		slices.SortStableFunc(models, func(a, b Change) int { return cmp.Compare(a.TID, b.TID) }) // the first thread's first
		for pids := []kernel.TID{p.pid}; len(pids) > 0; pids = pids[1:] {
			tasks, err := u.family.threadsOf(pids[0])
			if err != nil {
				return err
			}
			for _, k := range tasks {
				c := Change{Object: k.Object(), Attribute: p.attribute, Status: attr.Done}
				fixed := p.attribute == attr.Affinity && !k.Movable()
				if k.StartTicks >= e.Ticks && !k.Ended() && !fixed && !own[c.Key()] && !u.newTask(e, c, models, partly) {
					others = append(others, c)
				}
			}
			for _, pid := range u.family.children[pids[0]] {
				start := u.family.starts[pid]
				if start >= e.Ticks && !own[attr.Key{ID: attr.ID{TID: pid, StartTicks: start}, Attribute: p.attribute}] {
					pids = append(pids, pid)
				}
			}
		}
	}
	if len(others) > 0 {
		u.plan.Warnings = append(u.plan.Warnings, Note(fmt.Sprintf("left alone, as born since entry %d with another value: %s", e.ID, attr.Printable(history.Each(others)))))
	}
	return nil
}

// newTask adds a task's step if it has what one of the models was given, or a newer entry found
// that. It reports false for a task with a value of its own.
func (u *undoer) newTask(e *Entry, c Change, models []Change, partly bool) bool {
	var now attr.Value
	var err error
	if g := u.index[c.Key()]; g != nil {
		if now = g.found; g.after(e) {
			return true
		}
	} else if now, err = u.family.value(c); errors.Is(err, attr.ErrGone) || partly {
		return true
	}
	for _, m := range models {
		for _, m.After = range m.Afters() {
			found := func(l kept) bool {
				return l.entry > e.ID && u.same(c, m.After, l.before) && c.Attribute.Alike(l.after, now)
			}
			if err != nil || u.same(c, m.After, now) || slices.ContainsFunc(u.kept[c.Key()], found) { // what cannot be read is refused
				u.step(e, c, u.below(e, m), m.After)
				return true
			}
		}
	}
	return c.Attribute.Alike(now, models[0].Before)
}

// family is the processes that there are, as they were when they were first asked for.
type family struct {
	resolver
	tasks  map[kernel.TID][]attr.Task
	values map[attr.Key]attr.Value
}

func (t *Tuner) family() family {
	return family{resolver{Tuner: t}, map[kernel.TID][]attr.Task{}, map[attr.Key]attr.Value{}}
}

func (f *family) threadsOf(pid kernel.TID) ([]attr.Task, error) {
	if _, known := f.tasks[pid]; !known {
		tasks, err := f.threads(pid, f.starts[pid], nil)
		if err != nil && !errors.Is(err, attr.ErrGone) {
			return nil, err
		}
		f.tasks[pid] = tasks
	}
	return f.tasks[pid], nil
}

// bornSince are the descendants of a process, each of a parent that was born since, too.
func (f *family) bornSince(pid kernel.TID, ticks uint64) (out []kernel.TID) {
	for _, child := range f.children[pid] {
		if f.starts[child] >= ticks {
			out = append(append(out, child), f.bornSince(child, ticks)...)
		}
	}
	return out
}

func (f *family) value(c Change) (attr.Value, error) {
	if v, known := f.values[c.Key()]; known {
		return v, nil
	}
	v, err := f.Read(c.Attribute, c.Object)
	if err = f.Mark(c, err); err == nil {
		f.values[c.Key()] = v
	}
	return v, err
}

// same returns the changes that are of the process which has the number now: that
// started no later than its threads.
func (f *family) same(changes []Change, pid kernel.TID) []Change {
	start, there := f.starts[pid]
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return !there || start > c.StartTicks || c.TID == c.PID && start != c.StartTicks
	})
}
