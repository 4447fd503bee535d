package action

import (
	"context"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/tune"
)

// Tuning is what a user wants of some tasks; what is nil or zero stays as it is.
type Tuning struct {
	CPUs     cpuset.Set     // these CPUs; or
	Strategy place.Strategy // chosen by load and topology,
	Within   cpuset.Set     // among these (isolated ones too, as they were named); empty = anywhere
	Nice     *int
	NiceBy   int // instead of all else: added to each thread's nice value, which ends at -20 and 19
	Policy   *tune.PolicySetting
	IOPrio   *kernel.IOPrio
	Slice    *time.Duration // EEVDF's; 0 = the default
	Clamp    *tune.ClampSetting
	Cookie   *tune.CookieSetting
	// Autogroup is a nice value for the whole sessions of the targets.
	Autogroup *int
	// MemoryFollows moves the pages to the nodes of the CPUs.
	MemoryFollows bool
	Reason        string // for the journal when no strategy gives one
}

// Empty reports whether nothing is to be changed.
func (t Tuning) Empty() bool {
	return t.CPUs.Empty() && t.Strategy == "" && t.NiceBy == 0 && t.Autogroup == nil && t.settings() == tune.Settings{}
}

// Deps is what tuning works with.
type Deps struct {
	Tuner *tune.Tuner
	// Model is the machine as it was last seen; only a Strategy needs it.
	Model *model.Model
}

// Plan finds out what a Tuning would change, and changes nothing; the Plan is
// applied by Deps.Tuner. With a Strategy it returns the CPUs chosen as well.
func Plan(ctx context.Context, d Deps, targets []tune.Target, t Tuning) (tune.Plan, []place.Choice, error) {
	if t.NiceBy != 0 {
		plan, err := planNice(ctx, d, targets, t)
		return plan, nil, err
	}
	requests := []tune.Request{{Targets: targets, Settings: t.settings(), Reason: t.Reason}}
	var choices []place.Choice
	var refused []tune.Change
	switch {
	case t.Strategy != "":
		var err error
		if requests, choices, refused, err = choose(d, targets, t); err != nil {
			return tune.Plan{}, nil, err
		}
	case t.Autogroup != nil && t.settings() == tune.Settings{}:
		requests = nil
	}
	if t.Autogroup != nil {
		requests = append(requests, tune.Request{Files: d.Tuner.Sessions(targets, *t.Autogroup), Reason: t.Reason})
	}
	plan, err := d.Tuner.Plan(ctx, requests)
	plan.Changes = append(plan.Changes, refused...)
	return plan, choices, err
}
