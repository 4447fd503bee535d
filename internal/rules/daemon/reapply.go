package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/kernel"
	"piton/internal/rules"
)

// How often a process whose rule is to be reapplied is looked at: each time that somebody has
// changed it again, half as often, and as often as at first after a look at which nobody had.
const (
	reapplyEvery  = time.Second
	reapplyAtMost = time.Minute
	reapplyTold   = 3 // times in a row from which on it is said
)

// kept is such a process.
type kept struct {
	Effect
	next  time.Duration // look
	times int           // that its rule was reapplied, in a row
}

// keep has the rule of a process reapplied from now on, if the rule says so.
func (d *Daemon) keep(e Effect) {
	if e.Rule.Reapply && (e.Status == Done || e.Status == Unchanged) {
		d.kept[e.PID] = &kept{Effect: e, next: d.now() + reapplyEvery}
	}
}

// reapply sets again what others have changed of the processes that are due.
func (d *Daemon) reapply(ctx context.Context) {
	now := d.now()
	var due []Effect
	for _, pid := range slices.Sorted(maps.Keys(d.kept)) {
		switch k := d.kept[pid]; {
		case !d.engine.Holds(k.Decision):
			delete(d.kept, pid)
		case k.next <= now && len(due) < largestBatch:
			due = append(due, k.Effect)
		}
	}
	if len(due) == 0 {
		return
	}
	effects, passing := d.o.Applier.Again(ctx, due)
	again := map[kernel.TID]bool{}
	for i := range effects {
		again[effects[i].PID] = true
		d.o.Report(Report{Effect: &effects[i]})
	}
	for _, e := range due {
		k := d.kept[e.PID]
		switch {
		case again[e.PID]:
			k.times++
		case passing == nil:
			k.times = 0
		}
		pause := min(reapplyEvery<<min(k.times, 10), reapplyAtMost)
		k.next = now + pause
		if again[e.PID] && k.times >= reapplyTold {
			d.note(Trouble, "%s: others keep changing what it set of process %d: set again %d times in a row, next look in %v; piton watch --changes %d says who",
				e.Rule.Title(), e.PID, k.times, pause, e.PID)
		}
	}
}

// Again is part of Applier.
func (c *Changer) Again(ctx context.Context, held []Effect) ([]Effect, error) {
	if c.DryRun {
		return nil, nil
	}
	var requests []change.Request
	var decisions []rules.Decision
	setters, view := sync.OnceValue(c.Tuner.Setters), c.Tuner.NewView()
	for i := range held {
		decisions = append(decisions, held[i].Decision)
		for _, one := range held[i].Changes {
			if target, ok := c.overwritten(&held[i], one, view); ok && ours(setters()[one.Key()]) {
				requests = append(requests, change.Request{Targets: []change.Target{target},
					Set: []attr.Setting{{Attribute: one.Attribute, Value: one.After}}, Reason: held[i].Rule.Title()})
			}
		}
	}
	return c.once(ctx, decisions, requests)
}

// ours reports whether no other piton has set it since, nor undone it.
func ours(last history.Setter) bool {
	return last.Entry == 0 || last.Origin.OfRules() && !last.Undone
}

// overwritten finds out whether what a rule set has another value now, and of what it can be set
// again. A task with its number alone is not the one, nor is a process that was put into another
// group; CPUs that a task lost because they went offline are Back's.
func (c *Changer) overwritten(e *Effect, one change.Change, view *attr.View) (t change.Target, ok bool) {
	if one.Status != attr.Done && one.Status != attr.Unchanged || one.After == nil {
		return t, false
	}
	t = change.Target{TID: one.TID, StartTicks: one.StartTicks, Scope: change.ScopeThread}
	if one.Group() != "" {
		t = change.Target{TID: e.PID, StartTicks: e.StartTicks, Scope: change.ScopeProcess}
		if !c.concerns(e.Decision, one) {
			return t, false
		}
	} else if k, err := c.Tuner.Look(one.PID, one.TID); err != nil || k.Ended() || k.StartTicks != one.StartTicks {
		return t, false
	}
	now, err := c.Tuner.Read(one.Attribute, one.Object)
	if err != nil || one.Attribute.Alike(now, one.After) {
		return t, false
	}
	_, lapsed := view.Lapsed(one, one.After, now)
	return t, !lapsed
}
