package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/kernel"
)

const (
	// cleanPasses in a row over the threads, finding none with another value,
	// end the search: one pass can miss a thread whose creator was not set yet.
	cleanPasses = 2
	// settleTime bounds the search in a process that keeps creating threads
	// from threads that cannot be changed.
	settleTime = 5 * time.Second
)

// settle looks for threads that appeared meanwhile and gives them the new value
// as well.
func (r *run) settle(ctx context.Context) error {
	if len(r.plan.follow) == 0 && r.plan.Sweep == nil {
		r.result.Passes = 1
		return nil
	}
	deadline := time.Now().Add(settleTime)
	for clean := 0; clean < cleanPasses; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			r.warn(fmt.Sprintf("threads with another value still appeared after %v and %d passes; run it again", settleTime, r.result.Passes))
			return nil
		}
		changed, err := r.pass(ctx)
		if err != nil {
			return err
		}
		swept, err := r.sweep(ctx)
		if err != nil {
			return err
		}
		r.result.Passes++
		clean++
		if changed || swept {
			clean = 0
		}
	}
	return nil
}

// pass looks at every thread of the followed targets once, and reports whether
// one had to be changed.
func (r *run) pass(ctx context.Context) (bool, error) {
	var found []Change
	taken := map[changeKey]bool{} // targets may overlap
	look := resolver{Tuner: r.t}
	for _, f := range r.plan.follow {
		look.skip = r.settled(f)
		tasks, _, err := look.resolve(f.target)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look for new threads of %d: %w", f.target.TID, err)
		}
		for _, k := range tasks {
			if r.knows(k.id()) || ended(k.state) {
				continue
			}
			for _, c := range r.newborn(f, k) {
				if key := (changeKey{taskID: k.id(), attribute: c.Attribute}); !taken[key] {
					taken[key] = true
					found = append(found, c)
				}
			}
		}
	}
	for _, c := range found {
		r.known[c.TID] = c.StartTicks
	}
	changed, err := r.adopt(found)
	if err != nil || !changed {
		return false, err
	}
	fresh := r.result.Changes[len(r.result.Changes)-len(found):]
	return true, r.make(ctx, fresh)
}

// settled tells which threads have been dealt with and still have what they were
// given, so that nothing else of them need be read. A newborn that got the number of
// one of them meanwhile, and its value, is not told from it.
func (r *run) settled(f follow) func(pid, tid kernel.TID) bool {
	models := map[kernel.TID][]Change{}
	return func(pid, tid kernel.TID) bool {
		if _, ok := r.known[tid]; !ok {
			return false
		}
		if _, known := models[pid]; !known {
			models[pid] = nil
			for _, a := range f.attributes {
				if c, ok := r.model(f, pid, a); ok {
					models[pid] = append(models[pid], c)
				}
			}
		}
		return len(models[pid]) > 0 && !slices.ContainsFunc(models[pid], func(c Change) bool {
			now, err := r.t.read(Change{TID: tid, Attribute: c.Attribute})
			return err != nil || now != c.After
		})
	}
}

// newborn returns what a thread born meanwhile needs. It may have inherited the
// old value or the new one; either way an undo must know of it.
func (r *run) newborn(f follow, k task) []Change {
	var out []Change
	for _, a := range f.attributes {
		model, ok := r.model(f, k.pid, a)
		if !ok {
			continue
		}
		now, err := r.t.read(Change{TID: k.tid, Attribute: a})
		if err != nil {
			continue // gone again
		}
		c := Change{
			PID: k.pid, TID: k.tid, StartTicks: k.startTicks, Comm: k.comm,
			Attribute: a, Before: now, After: model.After, Status: Planned,
		}
		if !r.asked(f, k, &c) {
			continue
		}
		if now == c.After {
			// What it would have had but for us: its creator's old value.
			c.Before, c.Status, c.Reason = model.Before, Done, "born meanwhile with the new value"
			if c.Before == c.After {
				c.Status, c.Reason = Unchanged, ""
			}
		} else if f.inherited && now != model.Before {
			continue // somebody gave it a value of its own
		}
		out = append(out, c)
	}
	return out
}

// asked makes of a newborn's change what the request means for a thread like it:
// what the model got may hang on the policy that the model has. It reports false
// for a thread that is to be left as it is.
func (r *run) asked(f follow, k task, c *Change) bool {
	i := slices.IndexFunc(f.asked, func(w wanted) bool { return w.attribute == c.Attribute })
	if i < 0 || c.Attribute != Policy && c.Attribute != Slice && c.Attribute != Clamp {
		return true
	}
	c.After = f.asked[i].value
	r.t.planner().prepare(k, c)
	if c.Status == Refused {
		return false
	}
	c.Status = Planned
	if c.Attribute != Policy || r.made == 0 || k.startTicks <= r.made {
		return true
	}
	// Reset-on-fork asks for children that are ordinary (sched(7)), and by then all
	// threads that have some had it.
	after, err := parsePolicy(c.After)
	return err != nil || !after.ResetOnFork || policyOf(c.Before) != kernel.Other
}

// model returns the change that was planned for the leader of the thread's
// process, else for another of its threads, else for the target itself.
func (r *run) model(f follow, pid kernel.TID, a Attribute) (Change, bool) {
	best, rank := Change{}, 0
	for _, c := range r.plan.Changes {
		if c.Attribute != a || c.Status == Refused {
			continue
		}
		got := 0
		switch {
		case c.TID == pid:
			got = 3
		case c.PID == pid:
			got = 2
		case c.TID == f.target.TID:
			got = 1
		}
		if got > rank {
			best, rank = c, got
		}
	}
	return best, rank > 0
}

// adopt adds changes of new threads to the result, after journalling those that
// are still to be made.
func (r *run) adopt(found []Change) (changed bool, err error) {
	var planned []Change
	for _, c := range found {
		if c.Status == Planned {
			planned = append(planned, c)
		}
	}
	if err := r.more(planned); err != nil {
		return false, err
	}
	seen := map[kernel.TID]bool{}
	for _, c := range found {
		seen[c.TID] = true
	}
	r.result.Newborn += len(seen)
	r.result.Changes = append(r.result.Changes, found...)
	return len(planned) > 0, nil
}
