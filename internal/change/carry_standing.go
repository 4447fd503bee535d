package change

import (
	"cmp"
	"context"
	"errors"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// CarryStanding plans requests and carries them out, for a Tuner whose user has decided once
// for all (Options.Standing). It is Carry for a piton that makes changes all day: the plan is
// made under the lock, so that nothing need be read again before it is recorded, and a
// process of one thread is held before it is looked at, and looked at twice only: for the
// plan, and after the change. All else goes the way of every other change.
func (t *Tuner) CarryStanding(ctx context.Context, requests []Request) (Outcome, error) {
	return t.Carry(ctx, Plan{Again: func(ctx context.Context) (Plan, error) {
		if !t.Proc.Live() {
			return Plan{}, ErrNotLive
		}
		p := t.planner()
		p.holds = map[attr.ID]kernel.Process{}
		plan, err := p.requests(ctx, requests)
		if err != nil {
			for _, held := range p.holds {
				_ = held.Close()
			}
			return Plan{}, err
		}
		plan.holds = p.holds
		return plan, nil
	}}, Consent{})
}

// single returns the thread of a process that has no other, and holds it, where processes
// are held. Any thread but a process's first has that one beside it, also when it has ended.
func (t *resolver) single(target Target) (k attr.Task, ok bool) {
	if t.holds == nil || target.Scope != ScopeProcess || len(t.holds) >= maxHolds {
		return k, false
	}
	held, err := t.o.Writer.Hold(target.TID, 0)
	if err != nil {
		return k, false
	}
	if k, err = t.Look(target.TID, target.TID); err == nil {
		err = cmp.Or(meant(target, k), held.Weak(), held.Alive()) // in this order: what was looked at is what is held
	}
	if _, known := t.holds[k.ID()]; err != nil || k.Threads != 1 || known {
		_ = held.Close()
		return k, false
	}
	t.holds[k.ID()] = held
	return k, true
}

// singles reports whether all processes of a standing plan have one thread, which has what
// was set: then there is no newborn to look for. A thread that is alone when it is looked at
// is the one whose value is read after that; all that come later are born of it.
func (r *run) singles() bool {
	if r.plan.holds == nil || r.plan.Sweep != nil {
		return false
	}
	for _, f := range r.plan.follow {
		pid := f.target.TID
		k, err := r.t.Look(pid, pid)
		if err != nil || k.Threads != 1 || k.StartTicks != f.target.StartTicks || f.target.Scope != ScopeProcess {
			return false // children of a tree, too, may have been born
		}
		for _, a := range f.attributes {
			c := r.result.find(attr.Key{ID: k.ID(), Attribute: a})
			if c == nil {
				return false
			}
			if now, err := r.t.Value(a, pid); c.Status != attr.Refused && (err != nil || !a.Alike(now, c.After)) {
				return false
			}
		}
	}
	r.result.Passes = 1
	return true
}

// Ended reports whether all tasks of an entry have ended, so that there is nothing of it to
// undo. One that changed files, or was over all tasks, counts as being there, and so does a
// task that cannot be looked at.
func Ended(proc attr.Processes, e *Entry) bool {
	if e.Sweep != 0 {
		return false
	}
	gone := map[kernel.TID]bool{}
	for _, c := range e.Changes {
		if c.IsFile() {
			return false
		}
		if !gone[c.PID] { // threads and children may have been born since
			st, err := proc.Stat(c.PID)
			if gone[c.PID] = errors.Is(err, attr.ErrGone) || err == nil && st.StartTicks > c.StartTicks; !gone[c.PID] {
				return false
			}
		}
	}
	for _, t := range e.Targets {
		if st, err := proc.Stat(t.TID); !ended(st, err, t.StartTicks) {
			return false
		}
	}
	return true
}

// ended reports whether the task that started then is not the one whose stat was read.
func ended(st procfs.Stat, err error, startTicks uint64) bool {
	if err != nil {
		return errors.Is(err, attr.ErrGone)
	}
	return startTicks != 0 && st.StartTicks != startTicks
}

// find returns the change of a key, nil if there is none.
func (o *Outcome) find(key attr.Key) *Change {
	for i := range o.Changes {
		if o.Changes[i].Key() == key {
			return &o.Changes[i]
		}
	}
	return nil
}
