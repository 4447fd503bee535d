package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/model"
	"piton/internal/rules"
)

// Effect is what became of a decision.
type Effect struct {
	rules.Decision
	Comm    string
	Status  Status
	Changes []change.Change
	Entry   uint64        // of the journal, 0 when nothing was to be changed
	Took    time.Duration // from the exec or fork until it was in force; 0 for a process that ran already
	Why     string        // of a failure
}

// Status is what became of all changes to a process.
type Status string

// The statuses.
const (
	Done      Status = "done"
	Unchanged Status = "unchanged" // it had all of it, mostly from its parent
	Planned   Status = "planned"   // nothing was changed, as asked
	Ended     Status = "ended"     // the process, before
	Failed    Status = "failed"    // a part of it, or all
)

// Wants is what rules ask for; Live knows.
type Wants interface {
	Tuning(*rules.Rule) (action.Tuning, error)
	Load() (*model.Model, error)
}

// Changer applies decisions by the change path. All that are due at the same time are
// one entry of the journal, synced once, before any of them is made.
type Changer struct {
	Tuner  *change.Tuner // a daemon's (change.Options)
	Wants  Wants
	DryRun bool
	given  []given // by strategies, of the last moment
}

// given is what a strategy chose, and when.
type given struct {
	action.Given
	at time.Time
}

// newLoad is how long a model may not show yet what a process does where it was placed: a
// sample and the one before it.
const newLoad = 2 * sampleEvery

// Apply is part of Applier. A strategy reads the load of the machine first, so other rules
// do not wait for those that have one.
func (c *Changer) Apply(ctx context.Context, batch []rules.Decision) (effects []Effect, later []rules.Decision, why error) {
	var stated, chosen []rules.Decision
	for _, d := range batch {
		if d.Rule.Strategy() == "" {
			stated = append(stated, d)
		} else {
			chosen = append(chosen, d)
		}
	}
	for _, part := range [][]rules.Decision{stated, chosen} {
		its, err := c.applyAll(ctx, part)
		if effects = append(effects, its...); err != nil {
			later, why = append(later, part[len(its):]...), err
		}
	}
	return effects, later, why
}

// applyAll applies a batch. What fails as a whole is tried for each process alone, so that one
// cannot keep the others from their rules. The error is one that passes: another piton holds
// the lock, or the disk is full. What has no effect is to be tried again.
func (c *Changer) applyAll(ctx context.Context, batch []rules.Decision) (effects []Effect, passing error) {
	if len(batch) == 0 {
		return nil, nil
	}
	effects, err := c.apply(ctx, batch)
	switch {
	case passes(err):
		return nil, err
	case err == nil:
		return effects, nil
	case len(batch) == 1 || ctx.Err() != nil:
		for _, d := range batch {
			effects = append(effects, Effect{Decision: d, Status: Failed, Why: err.Error()})
		}
		return effects, nil
	}
	for one := range slices.Chunk(batch, 1) {
		its, err := c.applyAll(ctx, one)
		if effects = append(effects, its...); err != nil {
			return effects, err
		}
	}
	return effects, nil
}

// apply makes one plan of a batch. With an error nothing was changed.
func (c *Changer) apply(ctx context.Context, batch []rules.Decision) ([]Effect, error) {
	requests, refused, err := c.requests(batch)
	if err != nil {
		return nil, err
	}
	var outcome change.Outcome
	if c.DryRun {
		plan, err := c.Tuner.Plan(ctx, requests)
		if err != nil {
			return nil, err
		}
		outcome = plan.Preview()
	} else if outcome, err = c.Tuner.ApplyAsDaemon(ctx, requests); err != nil && len(outcome.Changes) == 0 {
		return nil, err
	}
	outcome.Changes = append(outcome.Changes, refused...)
	effects := make([]Effect, 0, len(batch))
	for _, d := range batch {
		out := c.effect(d, outcome, err)
		if d.Rule.Strategy() != "" && out.Status == Done {
			c.give(&out)
		}
		effects = append(effects, out)
	}
	return effects, nil
}

// give remembers what a strategy chose, for the next choice.
func (c *Changer) give(d *Effect) {
	i := slices.IndexFunc(d.Changes, func(c change.Change) bool { return c.Attribute == attr.Affinity && c.TID == c.PID })
	if i >= 0 {
		target := change.Target{TID: d.PID, StartTicks: d.StartTicks}
		c.given = append(c.given, given{action.Given{Target: target, CPUs: attr.CPUs(d.Changes[i].After)}, time.Now()})
	}
}

// requests groups a batch by rule: a strategy chooses for all of its processes together.
func (c *Changer) requests(batch []rules.Decision) (requests []change.Request, refused []change.Change, err error) {
	byRule := map[*rules.Rule][]change.Target{}
	var order []*rules.Rule
	for _, d := range batch {
		if byRule[d.Rule] == nil {
			order = append(order, d.Rule)
		}
		byRule[d.Rule] = append(byRule[d.Rule], change.Target{TID: d.PID, StartTicks: d.StartTicks, Scope: change.ScopeProcess})
	}
	for _, r := range order {
		want, err := c.Wants.Tuning(r)
		if err != nil {
			return nil, nil, err
		}
		deps := action.Deps{Tuner: c.Tuner}
		if want.Strategy != "" {
			if deps.Model, err = c.Wants.Load(); err != nil {
				return nil, nil, err
			}
			c.given = slices.DeleteFunc(c.given, func(g given) bool { return time.Since(g.at) > newLoad })
			for _, g := range c.given {
				deps.Given = append(deps.Given, g.Given)
			}
		}
		more, _, none, err := action.Requests(deps, byRule[r], want)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.Title(), err)
		}
		requests, refused = append(requests, more...), append(refused, none...)
	}
	return requests, refused, nil
}

// concerns reports whether a change is of the decision's process, or of its control group.
func (carrier *Changer) concerns(d rules.Decision, c change.Change) bool {
	if c.Group() == "" {
		return c.PID == d.PID
	}
	o, err := carrier.Tuner.GroupOf(d.PID, c.Attribute)
	return err == nil && o.Path == c.Path
}

// effect is the part of an outcome that is of one decision; early ended it half way.
func (carrier *Changer) effect(d rules.Decision, o change.Outcome, early error) Effect {
	out := Effect{Decision: d, Status: Unchanged}
	ended := true
	for _, c := range o.Changes {
		if !carrier.concerns(d, c) {
			continue
		}
		out.Changes = append(out.Changes, c)
		if !c.IsFile() && (out.Comm == "" || c.TID == c.PID) {
			out.Comm = c.Comm
		}
		if c.Gone() {
			continue
		}
		ended = false
		switch c.Status {
		case attr.Failed, attr.Refused:
			out.Status, out.Why = Failed, c.Why()
		case attr.Planned:
			if early != nil {
				out.Status, out.Why = Failed, early.Error()
			} else if out.Status != Failed {
				out.Status = Planned
			}
		case attr.Done:
			if out.Status == Unchanged {
				out.Status = Done
			}
		}
		if c.Took() {
			out.Entry = o.Entry
		}
	}
	switch {
	case ended:
		out.Status, out.Why = Ended, ""
	case o.Unsettled && slices.ContainsFunc(out.Changes, func(c change.Change) bool { return c.TID != c.PID }):
		out.Why = cmp.Or(out.Why, "it kept creating threads, and the last of them may have been missed")
	}
	return out
}
