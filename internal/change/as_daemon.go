package change

import (
	"cmp"
	"context"

	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

// ApplyAsDaemon plans requests and carries them out, for a Tuner whose user has decided once
// for all (Options.Standing). It is Apply for a piton that makes changes all day: the plan is
// made under the lock, so that nothing need be read again before it is recorded, and a
// process of one thread is held before it is looked at, and looked at twice only: for the
// plan, and after the change. All else goes the way of every other change.
func (t *Tuner) ApplyAsDaemon(ctx context.Context, requests []Request) (Outcome, error) {
	return t.Apply(ctx, Plan{Order: Order{Requests: requests}, asDaemon: true}, Confirmation{})
}

func (t *Tuner) planAsDaemon(ctx context.Context, requests []Request) (Plan, error) {
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
	plan.holds, plan.Origin.Kind = p.holds, journal.ByRule
	return plan, nil
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
		for _, s := range f.asked {
			a := s.Attribute
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

// find returns the change of a key, nil if there is none.
func (o *Outcome) find(key attr.Key) *Change {
	for i := range o.Changes {
		if o.Changes[i].Key() == key {
			return &o.Changes[i]
		}
	}
	return nil
}
