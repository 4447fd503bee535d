package change

import (
	"context"

	"piton/internal/change/attr"
)

// Sweep makes a plan one over whatever tasks there are, as when CPUs are
// isolated, instead of one over tasks that were named. That a task has ended
// meanwhile is then no failure, and new ones may be born at any time.
type Sweep struct {
	// AtTicks is when the plan's tasks were looked at, USER_HZ since boot. An undo
	// also looks for tasks born since that inherited what the plan set.
	AtTicks uint64
	// Again, when not nil, is asked once the changes were made, and until it has
	// nothing new twice in a row, what else should be changed. What it says of tasks
	// and files that the plan knows already is ignored.
	Again func(ctx context.Context) ([]Request, error)
}

// sweep asks the plan's Sweep once, and reports whether something new had to be
// changed.
func (r *run) sweep(ctx context.Context) (bool, error) {
	if r.plan.Sweep == nil || r.plan.Sweep.Again == nil {
		return false, nil
	}
	if len(r.plan.Undoes) == 0 && !r.plan.WillChange() {
		return false, nil // no consent was asked for a plan that changes nothing
	}
	return r.also(ctx, r.plan.Sweep.Again, func(c Change) bool { return !r.handled[c.Key()] })
}

// also makes further changes, those that are wanted, and reports whether there were any.
func (r *run) also(ctx context.Context, ask func(context.Context) ([]Request, error), wanted func(Change) bool) (bool, error) {
	requests, err := ask(ctx)
	if err != nil || len(requests) == 0 {
		return false, err
	}
	plan, err := r.t.Plan(ctx, requests)
	if err != nil {
		return false, err
	}
	var found []Change
	for _, c := range plan.Changes {
		if c.Status == attr.Planned && wanted(c) {
			r.markHandled(c)
			found = append(found, c)
		}
	}
	changed, err := r.adopt(found)
	if err != nil || !changed {
		return false, err
	}
	return true, r.make(ctx, r.result.Changes[len(r.result.Changes)-len(found):])
}
