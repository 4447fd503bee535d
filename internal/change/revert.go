package change

import (
	"context"
	"errors"
	"slices"
	"time"

	"piton/internal/change/attr"
)

const (
	// passesMost bounds how often it is looked for what inherited a value, and how
	// often what failed is tried again.
	passesMost = 20
	// passTime is the pause before what failed is tried again.
	passTime = 50 * time.Millisecond
)

// Revert reverts what an entry has changed so far, until nothing is left of it: first
// what was changed, at once; then what was born meanwhile and inherited a value. It reads
// no journal and writes none. What is in reverted is left out, and what it reverts is
// added. It returns the last plan, and what became of everything; stop ends it early.
func (t *Tuner) Revert(ctx context.Context, e Entry, reverted map[attr.Key]bool, stop func() bool) (plan Plan, all Outcome, err error) {
	index := map[attr.Key]int{} // into all.Changes
	clean := 0
	for scan := 0; scan < passesMost && !stop(); scan++ {
		p, planErr := t.planRevert(ctx, e, plan.Undoes != nil, reverted)
		r, applyErr := t.Apply(ctx, p, Confirmation{Yes: true})
		if err = errors.Join(planErr, applyErr); err != nil {
			t.o.Clock.Sleep(passTime)
			continue
		}
		done, failed := 0, 0
		for _, c := range r.Changes {
			switch {
			case c.Status == attr.Done:
				done++
				reverted[c.Key()] = true
			case c.Status == attr.Failed && t.Barred(c) == nil, c.Status == attr.Refused && c.Err != nil: // it could not be looked at
				failed++
			}
			if i, known := index[c.Key()]; known {
				all.Changes[i] = c
				continue
			}
			index[c.Key()] = len(all.Changes)
			all.Changes = append(all.Changes, c)
		}
		first := plan.Undoes == nil
		plan = p
		if first {
			e.Changes = made(e.Changes, all.Changes, index)
			continue
		}
		if clean++; done+failed > 0 {
			clean = 0
		}
		if clean == cleanPasses {
			break
		}
		if failed > 0 {
			t.o.Clock.Sleep(passTime)
		}
	}
	if plan.Undoes != nil && err != nil { // what was changed is reverted, and it is not known what inherited it
		all.Unsettled, err = true, nil
	}
	return plan, all, err
}

// made returns what may have been inherited: of a change that was only planned the value
// that it had, if it was made, and of a trial all that it may have had, with what a cpuset
// left of that.
func made(changes, reverted []attr.Change, index map[attr.Key]int) []attr.Change {
	var out []attr.Change
	for _, c := range changes {
		if i, known := index[c.Key()]; known && c.Status == attr.Planned {
			switch r := reverted[i]; {
			case len(c.Tried) > 0:
				if r.Status == attr.Done {
					c.Tried = append(slices.Clip(c.Tried), r.Before)
				}
			case r.Status == attr.Done:
				c.After = r.Before
			case r.Status == attr.Unchanged && !r.Gone():
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// planRevert returns the Plan that undoes an entry, as PlanUndo does, without reading the
// journal and without asking anything that waits for a task which gets no CPU. With
// inherited it is also for tasks that inherited what the entry set. What has been reverted
// already is left out: if it has the value again, that is from somebody else.
func (t *Tuner) planRevert(ctx context.Context, e Entry, inherited bool, reverted map[attr.Key]bool) (Plan, error) {
	u := t.undoer(UndoRequest{}, []Entry{e})
	u.view.Blind, u.plan.blind, u.reverted = true, true, reverted
	if err := u.undo(&u.entries[0], inherited); err != nil {
		return Plan{}, err
	}
	return u.plan, u.finish(ctx)
}
