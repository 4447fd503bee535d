package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

const (
	// cleanPasses in a row over the threads, finding none with another value,
	// end the search: one pass can miss a thread whose creator was not set yet, or has ended
	// since it was listed.
	cleanPasses = 2
	// settleTime bounds the search in a process that keeps creating threads
	// from threads that cannot be changed.
	settleTime = 5 * time.Second
	// daemonSettle is that of a piton that other processes wait for.
	daemonSettle = 100 * time.Millisecond
)

// catchNewThreads looks for threads that appeared meanwhile and gives them the new value
// as well.
func (r *run) catchNewThreads(ctx context.Context) error {
	if len(r.plan.follow) == 0 && !r.plan.sweeps() {
		r.result.Passes = 1
		return nil
	}
	most := settleTime
	if r.t.o.Daemon {
		most = daemonSettle
	}
	deadline := r.t.o.Clock.Now().Add(most)
	for clean := 0; clean < cleanPasses; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.t.o.Clock.Now().After(deadline) {
			what := "threads with another value still appeared"
			if r.missed != nil {
				what = fmt.Sprintf("not every thread could be looked at (%v)", r.missed)
			}
			r.warn(fmt.Sprintf("%s after %v and %d passes; run it again", what, most, r.result.Passes))
			r.result.Unsettled = true
			return nil
		}
		changed, err := r.scan(ctx)
		if err != nil {
			return err
		}
		swept, err := r.matchAll(ctx)
		if err != nil {
			return err
		}
		r.result.Passes++
		clean++
		if changed || swept {
			clean = 0
		}
		if r.missed != nil {
			r.t.o.Clock.Sleep(passTime)
		}
	}
	return nil
}

// scan looks at every thread of the followed targets once, and reports whether
// one had to be changed, or could not be looked at.
func (r *run) scan(ctx context.Context) (bool, error) {
	var found []Change
	r.missed = nil
	taken := map[attr.Key]bool{} // targets may overlap
	look := resolver{Tuner: r.t}
	for _, f := range slices.Backward(r.plan.follow) { // the last request wins, as in the plan
		look.skip = r.settled(f)
		tasks, _, err := look.resolve(f.target)
		if errors.Is(err, attr.ErrGone) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look for new threads of %d: %w", f.target.TID, err)
		}
		for _, k := range tasks {
			if k.Ended() {
				continue
			}
			for _, c := range r.newThread(f, k) {
				if !taken[c.Key()] {
					taken[c.Key()] = true
					found = append(found, c)
				}
			}
		}
	}
	changed, err := r.adopt(ctx, found)
	return changed || r.missed != nil, err
}

// settled reports whether a thread has been changed and still has that value, so that
// nothing else of it need be read. A newborn with the number and the value of one that has
// ended counts as that one.
func (r *run) settled(f follow) func(pid, tid kernel.TID) bool {
	models := map[kernel.TID][]Change{}
	return func(pid, tid kernel.TID) bool {
		if !r.known[tid] {
			return false
		}
		if _, known := models[pid]; !known {
			models[pid] = nil
			for _, s := range f.asked {
				if c, ok := r.model(f, pid, s.Attribute); ok {
					models[pid] = append(models[pid], c)
				}
			}
		}
		return len(models[pid]) > 0 && !slices.ContainsFunc(models[pid], func(c Change) bool {
			now, err := r.t.Value(c.Attribute, tid)
			return err != nil || attr.Text(now) != attr.Text(c.After)
		})
	}
}

// newThread returns what a thread born meanwhile needs. It may have inherited the
// old value or the new one; either way an undo must know of it.
func (r *run) newThread(f follow, k attr.Task) []Change {
	var out []Change
	pid := k.PID
	if start, planned := r.starts[pid]; planned {
		leader, err := r.t.Look(pid, pid)
		if err != nil {
			r.miss(err)
			return nil
		}
		if leader.StartTicks != start { // the number means another process than in the plan, of which all is made
			r.later[pid] = leader.StartTicks
			pid = 0
		}
	}
	for _, s := range f.asked {
		a := s.Attribute
		model, ok := r.model(f, pid, a)
		if !ok || r.handled[attr.Key{ID: k.ID(), Attribute: a}] {
			continue
		}
		c := Change{Object: k.Object(), Attribute: a, After: model.After, Status: attr.Planned}
		now, err := r.t.Value(a, k.TID)
		if err != nil {
			r.miss(r.t.Mark(c, err))
			continue
		}
		is, err := r.t.Look(k.PID, k.TID)
		if r.miss(err); err != nil || is.StartTicks != k.StartTicks {
			continue // that was of the next one with its number
		}
		c.Before = now
		if planned, ok := r.planned[model.Key()]; ok && (model.Status == attr.Failed || a == attr.Affinity && !a.Alike(now, c.After)) {
			c.After = planned // somebody else has changed the model, or a cpuset has cut it
		}
		if !r.asked(s, k, &c) {
			continue
		}
		c.Before = r.inherited(c, now)
		if attr.Text(now) == attr.Text(c.After) {
			if c.Same() && !model.Gone() { // from a task that was not changed
				c.Before = model.Before
			}
			c.Status, c.Reason = attr.Done, history.BornWith
			if c.Same() {
				c.Status, c.Reason = attr.Unchanged, ""
			}
		} else {
			r.needsWayBack(&c)
		}
		out = append(out, c)
	}
	return out
}

// miss notes why a thread that is there could not be looked at, if the next pass may be able to.
func (r *run) miss(err error) {
	if err != nil && !errors.Is(err, attr.ErrGone) && !errors.Is(err, attr.ErrNotSupported) && !errors.Is(err, attr.ErrNotPermitted) {
		r.missed = err
	}
}

// inherited returns what a newborn would have had but for this run: what the task had
// from which it has its value.
func (r *run) inherited(c Change, now attr.Value) attr.Value {
	for pid := c.PID; pid > 0; {
		st, err := r.t.Proc.Stat(pid)
		i := slices.IndexFunc(r.result.Changes, func(o Change) bool {
			earlier := o.StartTicks < st.StartTicks // of a process that had the number before
			return o.PID == pid && !earlier && o.Attribute == c.Attribute && o.Status == attr.Done && !o.Same() && c.Attribute.Alike(o.After, now)
		})
		if i >= 0 {
			return r.result.Changes[i].Before
		}
		if err != nil || st.StartTicks < r.at {
			break
		}
		pid = st.PPID
	}
	return now
}

// asked makes of a newborn's change what the request means for a thread like it:
// what the model got may hang on the policy that the model has. It reports false
// for a thread that is to be left as it is.
func (r *run) asked(s attr.Setting, k attr.Task, c *Change) bool {
	if c.Attribute != attr.Policy && c.Attribute != attr.Slice && c.Attribute != attr.Clamp {
		return true
	}
	c.After = s.Value
	r.t.NewView().Prepare(k, c)
	if c.Status == attr.Refused {
		return false
	}
	c.Status = attr.Planned
	if c.Attribute != attr.Policy || r.made == 0 || k.StartTicks <= r.made {
		return true
	}
	// Reset-on-fork asks for children that are ordinary (sched(7)), and by then all
	// threads that have some had it.
	return !attr.PolicyOf(c.After).ResetOnFork || attr.PolicyOf(c.Before).Policy != kernel.Other
}

// model returns what became of the change of the leader of the thread's process, else
// of another of its threads, else of the target's process. pid is 0 for a process that is
// not in the plan.
func (r *run) model(f follow, pid kernel.TID, a attr.Attribute) (Change, bool) {
	best, rank := Change{}, 0
	for _, c := range r.result.Changes {
		if c.Attribute != a || c.Status == attr.Refused || r.elsewhere(f, c) {
			continue
		}
		got := 0
		switch {
		case c.TID == pid && c.PID == pid:
			got = 4
		case c.PID == pid:
			got = 3
		case c.PID == f.target.TID || c.TID == f.target.TID:
			got = 2
		}
		if c.Gone() {
			got = min(got, 1) // what it had is of the time when the plan was made
		}
		if got > rank {
			best, rank = c, got
		}
	}
	return best, rank > 0
}

// elsewhere reports whether a change has its value from another request, which came
// later and won.
func (r *run) elsewhere(f follow, c Change) bool {
	switch c.Attribute {
	case attr.Policy, attr.Slice, attr.Clamp, attr.CoreCookie: // what was asked for is not what is set
		return false
	}
	planned, ok := r.planned[c.Key()]
	return ok && !slices.ContainsFunc(f.asked, func(s attr.Setting) bool {
		return s.Attribute == c.Attribute && s.Attribute.Alike(s.Value, planned)
	})
}

// adopt adds changes of new threads to the result, and makes those that are still to be
// made once they are recorded. Where the disk is full they are not made, and are told.
func (r *run) adopt(ctx context.Context, found []Change) (changed bool, err error) {
	var planned []Change
	seen := map[kernel.TID]bool{}
	for _, c := range found {
		r.markHandled(c)
		if c.Status == attr.Planned {
			planned = append(planned, c)
		}
		if c.Status != attr.Refused {
			seen[c.TID] = true
		}
	}
	if err := r.more(planned); journal.Unwritable(err) && len(r.plan.Undoes) == 0 {
		for i := range found {
			if found[i].Status == attr.Planned {
				found[i].Status, found[i].Err, found[i].Reason = attr.Failed, err, "it was born meanwhile, and there is no room to record its change"
			}
		}
		planned = nil
	} else if err != nil && !journal.Unwritable(err) {
		return false, err
	}
	r.result.Newborn += len(seen)
	r.result.Changes = append(r.result.Changes, found...)
	if len(planned) == 0 {
		return false, nil
	}
	return true, r.make(ctx, r.result.Changes[len(r.result.Changes)-len(found):])
}
