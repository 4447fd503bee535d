package change

import (
	"context"
	"slices"

	"piton/internal/change/attr"
)

// Sweep makes a plan one over whatever tasks there are, as when CPUs are
// isolated, instead of one over tasks that were named. That a task has ended
// meanwhile is then no failure, and new ones may be born at any time.
type Sweep interface {
	// Again is the plan under the lock: the one that it is given, or a new one where what
	// it says depends on the journal or on all tasks.
	Again(ctx context.Context, p Plan) (Plan, error)
	// More is asked once the changes were made, and until it has nothing new twice in a
	// row, what else should be changed. What it says of tasks and files that the plan knows
	// already is ignored.
	More(ctx context.Context) ([]Request, error)
}

// again makes a plan anew that is only sure under the lock.
func (t *Tuner) again(ctx context.Context, p Plan) (Plan, error) {
	switch {
	case p.Sweep != nil:
		return p.Sweep.Again(ctx, p)
	case p.asDaemon:
		return t.planAsDaemon(ctx, p.Requests)
	case p.Undo != nil && len(p.Undo.IDs) > 0: // not what else has been made, or undone, meanwhile
		return t.planUndo(ctx, *p.Undo)
	}
	return p, nil
}

// sweeps reports whether tasks that no target names may be added: also those that were born
// meanwhile from parents that still had what an undo restores.
func (p *Plan) sweeps() bool {
	return p.Sweep != nil || len(p.chosen) > 0 && slices.ContainsFunc(p.Changes, func(c Change) bool { return !c.IsFile() })
}

// matchAll asks once what else there is to change, and reports whether something new was.
func (r *run) matchAll(ctx context.Context) (bool, error) {
	fresh := func(c Change) bool { return !r.handled[c.Key()] }
	switch {
	case !r.plan.sweeps():
		return false, nil
	case r.plan.Sweep == nil:
		return r.additional(ctx, fresh, r.inForce)
	case len(r.plan.Undoes) == 0 && !r.plan.WillChange():
		return false, nil // no confirmation was asked for a plan that changes nothing
	}
	return r.additional(ctx, fresh, func(ctx context.Context) (Plan, error) {
		requests, err := r.plan.Sweep.More(ctx)
		if err != nil || len(requests) == 0 {
			return Plan{}, err
		}
		return r.t.Plan(ctx, requests)
	})
}

// additional makes further changes, those that are wanted, and reports whether there were any.
func (r *run) additional(ctx context.Context, wanted func(Change) bool, ask func(context.Context) (Plan, error)) (bool, error) {
	plan, err := ask(ctx)
	if err != nil {
		return false, err
	}
	var found []Change
	for _, c := range plan.Changes {
		if c.Status == attr.Planned && wanted(c) {
			found = append(found, c)
		}
	}
	if len(found) > 0 && len(r.plan.Undoes) == 0 { // who is left by an undo may not be found again
		if err := r.refuseDuringTrial(found); err != nil {
			return false, err
		}
	}
	return r.adopt(ctx, found)
}
