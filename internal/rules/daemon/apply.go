package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/model"
	"piton/internal/rules"
)

// Deed is what became of a decision.
type Deed struct {
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

// Carrier carries decisions out by the change path. All that are due at the same time are
// one entry of the journal, synced once, before any of them is made.
type Carrier struct {
	Tuner  *change.Tuner // a standing one (change.Options)
	Wants  Wants
	DryRun bool
}

// Apply is part of Applier. A strategy reads the load of the machine first, so other rules
// do not wait for those that have one.
func (c *Carrier) Apply(ctx context.Context, batch []rules.Decision) []Deed {
	var given, chosen []rules.Decision
	for _, d := range batch {
		if d.Rule.Place == "" {
			given = append(given, d)
		} else {
			chosen = append(chosen, d)
		}
	}
	return append(c.carry(ctx, given), c.carry(ctx, chosen)...)
}

// carry applies a batch. While another piton holds the lock it waits; what fails as a whole
// is tried for each process alone, so that one cannot keep the others from their rules.
func (c *Carrier) carry(ctx context.Context, batch []rules.Decision) []Deed {
	if len(batch) == 0 {
		return nil
	}
	deeds, err := c.apply(ctx, batch)
	for errors.Is(err, journal.ErrBusy) && ctx.Err() == nil {
		deeds, err = c.apply(ctx, batch)
	}
	if err == nil {
		return deeds
	}
	deeds = nil
	if len(batch) > 1 && ctx.Err() == nil {
		for one := range slices.Chunk(batch, 1) {
			deeds = append(deeds, c.carry(ctx, one)...)
		}
		return deeds
	}
	for _, d := range batch {
		deeds = append(deeds, Deed{Decision: d, Status: Failed, Why: err.Error()})
	}
	return deeds
}

// apply makes one plan of a batch. With an error nothing was changed.
func (c *Carrier) apply(ctx context.Context, batch []rules.Decision) ([]Deed, error) {
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
	} else if outcome, err = c.Tuner.CarryStanding(ctx, requests); err != nil && len(outcome.Changes) == 0 {
		return nil, err
	}
	outcome.Changes = append(outcome.Changes, refused...)
	deeds := make([]Deed, 0, len(batch))
	for _, d := range batch {
		deeds = append(deeds, deed(d, outcome, err))
	}
	return deeds, nil
}

// requests groups a batch by rule: a strategy chooses for all of its processes together.
func (c *Carrier) requests(batch []rules.Decision) (requests []change.Request, refused []change.Change, err error) {
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
		}
		more, _, none, err := action.Requests(deps, byRule[r], want)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.Title(), err)
		}
		requests, refused = append(requests, more...), append(refused, none...)
	}
	return requests, refused, nil
}

// deed is the part of an outcome that is of one decision; early ended it half way.
func deed(d rules.Decision, o change.Outcome, early error) Deed {
	out := Deed{Decision: d, Status: Unchanged}
	ended := true
	for _, c := range o.Changes {
		if c.PID != d.PID {
			continue
		}
		out.Changes = append(out.Changes, c)
		if out.Comm == "" || c.TID == c.PID {
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
	if ended {
		out.Status, out.Why = Ended, ""
	}
	return out
}
