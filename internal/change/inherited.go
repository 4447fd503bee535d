package change

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// did is what one entry did to tasks.
type did struct {
	own    map[attr.Key]bool  // whether the value is another than before
	models map[model][]Change // what it did to threads of one process
	order  []model
}

type model struct {
	pid       kernel.TID
	attribute attr.Attribute
}

func newDid() did { return did{own: map[attr.Key]bool{}, models: map[model][]Change{}} }

func (d *did) add(c Change) {
	d.own[c.Key()] = !c.Same() || len(c.Tried) > 0
	if c.IsFile() || c.Attribute.OfProcess() {
		return
	}
	m := model{c.PID, c.Attribute}
	if d.models[m] == nil {
		d.order = append(d.order, m)
	}
	d.models[m] = append(d.models[m], c)
}

// inherited adds what tasks have from an entry that were born since it was made: threads of
// the processes that it changed, and their descendants (fork(2), sched(7)). Those that
// were there already had a value of their own, which needed no change.
func (u *undoer) inherited(e *Entry, did did) error {
	if len(did.order) == 0 {
		return nil
	}
	if err := u.family.readChildren(); err != nil {
		return fmt.Errorf("look for tasks born since entry %d: %w", e.ID, err)
	}
	for _, m := range did.order {
		models := u.family.same(did.models[m], m.pid)
		if len(models) == 0 {
			continue // a later process has the number
		}
		slices.SortStableFunc(models, func(a, b Change) int { return cmp.Compare(u.doubt(a), u.doubt(b)) })
		for pids := []kernel.TID{m.pid}; len(pids) > 0; pids = pids[1:] {
			tasks, err := u.family.threadsOf(pids[0])
			if err != nil {
				return err
			}
			for _, k := range tasks {
				if k.StartTicks >= e.Ticks && !k.Ended() {
					u.task(e, did, k, models)
				}
			}
			for _, child := range u.family.children[pids[0]] {
				own := u.family.same(did.models[model{child, m.attribute}], child)
				known := slices.ContainsFunc(own, func(c Change) bool { return c.TID == c.PID })
				if u.family.starts[child] >= e.Ticks && !known {
					pids = append(pids, child)
				}
			}
		}
	}
	return nil
}

// doubt is 1 for a change that may never have been made, so that others explain first what a
// task has: piton did not live to say that it was, and what it was to be made to has ended.
func (u *undoer) doubt(c Change) int {
	if g := u.index[c.Key()]; c.Status == attr.Planned && g != nil && g.Gone() {
		return 1
	}
	return 0
}

// task adds a task's step if it has what one of the models was given.
func (u *undoer) task(e *Entry, did did, k attr.Task, models []Change) {
	c := Change{Object: k.Object(), Attribute: models[0].Attribute, Status: attr.Done}
	g := u.index[c.Key()]
	if _, own := did.own[c.Key()]; own || g == nil && u.beneath(e) || c.Attribute == attr.Affinity && !k.Movable() {
		return
	}
	var now attr.Value
	var err error
	if g == nil {
		if now, err = u.family.value(c); errors.Is(err, attr.ErrGone) {
			return
		}
	}
	// What a trial may have left can be what another thread of the process had.
	unchanged := func(m Change) bool { return len(m.Tried) > 0 && now != nil && u.same(c, m.Before, now) }
	if slices.ContainsFunc(models, unchanged) {
		return
	}
	for _, m := range models {
		for _, m.After = range m.Afters() {
			has := g != nil && u.built(g, e, m.After) || g == nil && (err != nil || u.same(c, m.After, now)) // what cannot be read is refused
			if has && !m.Same() && m.StartTicks <= k.StartTicks && u.explains(e, did, m, k) {
				u.step(e, c, m.Before, m.After)
				return
			}
		}
	}
}

// explains reports whether a task that was born later has its value from what the change
// did: not if an older thread of the change's process that was not changed gives it to its
// children, too. A thread of a process that was meant is taken to have it from the first
// thread, but for a trial, which need not have given the others anything.
func (u *undoer) explains(e *Entry, did did, m Change, k attr.Task) bool {
	if u.family.starts[m.PID] >= e.Ticks || m.TID == m.PID && k.PID == m.PID && len(e.Targets) > 0 && len(m.Tried) == 0 {
		return true
	}
	tasks, _ := u.family.threadsOf(m.PID)
	return !slices.ContainsFunc(tasks, func(k attr.Task) bool {
		c := Change{Object: k.Object(), Attribute: m.Attribute}
		if k.StartTicks >= e.Ticks || k.Ended() || did.own[c.Key()] {
			return false
		}
		forked, err := u.forked(c)
		return err == nil && u.same(c, m.After, forked)
	})
}

// forked is the value that children and new threads of a task get: its own, or the ordinary one
// where it resets on fork (sched(7); sched_fork of kernel/sched/core.c).
func (u *undoer) forked(c Change) (attr.Value, error) {
	own, err := u.had(c)
	if err != nil || c.Attribute != attr.Policy && c.Attribute != attr.Nice {
		return own, err
	}
	its, err := u.had(Change{Object: c.Object, Attribute: attr.Policy})
	policy := attr.PolicyOf(its)
	nice, isNice := own.(attr.NiceValue)
	switch {
	case err != nil || !policy.ResetOnFork:
		return own, err
	case isNice && (policy.Policy.RealTime() || nice < 0):
		return attr.NiceValue(0), nil
	case isNice:
		return own, nil
	case policy.Policy.RealTime():
		return attr.PolicyValue{}, nil
	}
	policy.ResetOnFork = false
	return policy, nil
}

// had is what a task had before the entries so far.
func (u *undoer) had(c Change) (attr.Value, error) {
	if g := u.index[c.Key()]; g != nil {
		return g.found, nil
	}
	return u.family.value(c)
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
