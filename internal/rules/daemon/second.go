package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/rules"
)

// secondAfter is how long after it got its rule a process is looked at once more: clone copies
// what the creator of a thread has, and lists the thread at its end (copy_process of
// kernel/fork.c), so that one can be born between with what its creator had before.
const secondAfter = 50 * time.Millisecond

// second is a process to be looked at once more.
type second struct {
	Effect
	at time.Duration
}

// lookAgain looks once more at processes that got their rules a moment ago. Nothing wakes for
// it: it is done with what comes next.
func (d *Daemon) lookAgain(ctx context.Context) {
	now := d.now()
	var due []Effect
	for _, s := range d.seconds[:min(len(d.seconds), largestBatch)] {
		if s.at > now {
			break
		}
		due = append(due, s.Effect)
	}
	if len(due) == 0 {
		return
	}
	effects, passing := d.o.Applier.Second(ctx, due)
	for i := range effects {
		d.o.Report(Report{Effect: &effects[i]})
	}
	if passing != nil {
		for i := range due {
			d.seconds[i].at = now + againLast
		}
		return
	}
	d.seconds = slices.Delete(d.seconds, 0, len(due))
}

// passes reports whether an error is one that passes: another piton holds the lock, or the
// disk takes nothing.
func passes(err error) bool {
	return errors.Is(err, journal.ErrBusy) || journal.Unwritable(err)
}

// Second is part of Applier.
func (c *Changer) Second(ctx context.Context, first []Effect) (effects []Effect, passing error) {
	var requests []change.Request
	for i := range first {
		requests = append(requests, c.missed(&first[i])...)
	}
	decisions := make([]rules.Decision, len(first))
	for i := range first {
		decisions[i] = first[i].Decision
	}
	return c.once(ctx, decisions, requests)
}

// once makes requests that are of processes with those decisions, and returns a effect for each of
// which something was changed, or was to be. The error is one that passes.
func (c *Changer) once(ctx context.Context, decisions []rules.Decision, requests []change.Request) (effects []Effect, passing error) {
	if len(requests) == 0 {
		return nil, nil
	}
	outcome, err := c.Tuner.ApplyAsDaemon(ctx, requests)
	if err != nil && len(outcome.Changes) == 0 {
		if passes(err) {
			return nil, err
		}
		return nil, nil // the threads have ended, or the daemon ends
	}
	for _, decision := range decisions {
		if d := c.effect(decision, outcome, err); d.Status == Done || d.Status == Failed {
			effects = append(effects, d)
		}
	}
	return effects, nil
}

// missed asks for what the process got, for those of its threads that still have what it had
// before. One with another value has set that itself, and keeps it.
func (c *Changer) missed(d *Effect) (out []change.Request) {
	t := c.Tuner
	st, err := t.Proc.Stat(d.PID)
	if err != nil || st.StartTicks != d.StartTicks || st.Threads == 1 {
		return nil
	}
	known := map[attr.ID]bool{}
	var models []change.Change
	for _, c := range d.Changes {
		known[c.ID()] = true
		inherited := c.Attribute != attr.Memory && !(c.Attribute == attr.Policy && attr.PolicyOf(c.After).ResetOnFork)
		if c.TID != c.PID || c.Status != attr.Done || c.Same() || c.Before == nil || !inherited {
			continue
		}
		if now, err := t.Value(c.Attribute, d.PID); err == nil && c.Attribute.Alike(now, c.After) { // else somebody has changed it since
			models = append(models, c)
		}
	}
	tids, _ := t.Proc.Threads(d.PID) // none: it has ended
	for _, tid := range tids {
		k, err := t.Look(d.PID, tid)
		if err != nil || k.Ended() || known[k.ID()] {
			continue
		}
		for _, m := range models {
			if now, err := t.Value(m.Attribute, tid); err == nil && m.Attribute.Alike(now, m.Before) {
				out = append(out, change.Request{Targets: []change.Target{{TID: tid, StartTicks: k.StartTicks, Scope: change.ScopeThread}},
					Set: []attr.Setting{{Attribute: m.Attribute, Value: m.After}}, Reason: d.Rule.Title()})
			}
		}
	}
	return out
}
