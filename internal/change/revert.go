package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// PlanRevert returns the Plan of a guard that undoes an entry, as PlanUndo does,
// without reading the journal and without asking anything that waits for a task
// which gets no CPU. With since not 0 it is for heirs as well: threads and
// descendants of the changed processes that started no earlier than since, in ticks
// after boot, and have the value that piton set. What has been reverted already is left
// out: if it has the value again, that is from somebody else.
func (t *Tuner) PlanRevert(ctx context.Context, e Entry, since uint64, reverted ...attr.Key) (Plan, error) {
	u := t.undoer(UndoRequest{}, []Entry{e})
	u.view.Blind, u.plan.blind = true, true
	u.entry(e)
	if since > 0 {
		heirs := u.heirs
		if e.Sweep > 0 { // it has named no process
			heirs = func(e Entry, _ uint64) error { return u.born(e) }
		}
		if err := heirs(e, since); err != nil {
			return Plan{}, err
		}
	}
	u.goals = slices.DeleteFunc(u.goals, func(g *goal) bool { return slices.Contains(reverted, g.Key()) })
	for i := range u.plan.undo {
		u.plan.undo[i].keys = slices.DeleteFunc(u.plan.undo[i].keys, func(k attr.Key) bool { return slices.Contains(reverted, k) })
	}
	if err := u.changes(ctx); err != nil {
		return Plan{}, err
	}
	return u.plan, nil
}

// heirs adds the goals of tasks that inherited a value.
func (u *undoer) heirs(e Entry, since uint64) error {
	look := &resolver{Tuner: u.t}
	if err := look.readChildren(); err != nil {
		return fmt.Errorf("look for what inherited a value: %w", err)
	}
	leaders := map[kernel.TID]uint64{} // starts of processes that are meant
	for _, t := range e.Targets {
		leaders[t.TID] = t.StartTicks
	}
	for _, g := range u.goals {
		if g.TID == g.PID {
			leaders[g.PID] = g.StartTicks
		}
	}
	processes := map[kernel.TID][]Change{} // one change of each attribute, the leader's if there is one
	var roots []kernel.TID
	for _, g := range u.goals {
		// Whoever has the number of a process that has ended is nobody's heir.
		start, there := look.starts[g.PID]
		if g.IsFile() || !there || leaders[g.PID] != start && u.t.alive(g.Change) != nil {
			continue
		}
		models, known := processes[g.PID]
		if !known {
			roots = append(roots, g.PID)
		}
		i := slices.IndexFunc(models, func(c Change) bool { return c.Attribute == g.Attribute })
		switch {
		case i < 0:
			processes[g.PID] = append(models, g.Change)
		case g.TID == g.PID:
			models[i] = g.Change
		}
	}
	for _, root := range roots {
		models := processes[root]
		for pids := []kernel.TID{root}; len(pids) > 0; pids = pids[1:] {
			tasks, err := look.threads(pids[0], look.starts[pids[0]], nil)
			if err != nil && !errors.Is(err, attr.ErrGone) {
				return err
			}
			if pids[0] == root && len(e.Targets) == 0 { // it was set for single threads
				models = u.unlikeOthers(models, tasks, since)
			}
			for _, k := range tasks {
				if k.StartTicks < since || k.Ended() {
					continue
				}
				if err := u.heir(e, k, models); err != nil {
					return err
				}
			}
			for _, child := range look.children[pids[0]] {
				// Else it is a root of its own, or has what it had before.
				if processes[child] == nil && look.starts[child] >= since {
					pids = append(pids, child)
				}
			}
		}
	}
	return nil
}

// unlikeOthers leaves out models whose value an older thread of the process has that
// was not changed: new threads may have it from there.
func (u *undoer) unlikeOthers(models []Change, tasks []attr.Task, since uint64) []Change {
	return slices.DeleteFunc(slices.Clone(models), func(m Change) bool {
		return slices.ContainsFunc(tasks, func(k attr.Task) bool {
			if k.StartTicks >= since || u.index[attr.Key{ID: k.ID(), Attribute: m.Attribute}] != nil {
				return false
			}
			now, err := u.t.Value(m.Attribute, k.TID)
			return err == nil && m.Attribute.Alike(now, m.After)
		})
	})
}

func (u *undoer) heir(e Entry, k attr.Task, models []Change) error {
	for _, m := range models {
		c := Change{Object: k.Object(), Attribute: m.Attribute, Before: m.Before, After: m.After, Status: attr.Done}
		now, err := u.t.Read(c.Attribute, c.Object)
		if err = u.t.Mark(c, err); err != nil && !errors.Is(err, attr.ErrGone) {
			return fmt.Errorf("look at %d: %w", k.TID, err)
		}
		if u.index[c.Key()] == nil && err == nil && c.Attribute.Alike(now, m.After) && !m.Same() && u.t.speaks(m, m.After) {
			u.step(c, step{e.ID, m.Before, m.After, true})
		}
	}
	return nil
}
