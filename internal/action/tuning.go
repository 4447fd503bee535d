package action

import (
	"context"
	"errors"
	"slices"

	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/place"
)

// Tuning is what a user wants of some tasks.
type Tuning struct {
	// Set is what each target gets. Memory near CPUs that are not named is near those
	// that Set or the Strategy gives it.
	Set      []attr.Setting
	Strategy place.Strategy // besides: CPUs chosen by load and topology,
	Within   cpuset.Set     // among these (isolated ones too, as they were named); empty = anywhere
	Groups   []string       // control groups, by path, that get what Set has of groups
	NiceBy   int            // instead of all else: added to each thread's nice value, which ends at -20 and 19
	Reason   string         // for the journal, before that of a Strategy
}

// Empty reports whether nothing is to be changed.
func (t Tuning) Empty() bool { return len(t.Set) == 0 && t.Strategy == "" && t.NiceBy == 0 }

// Request is a change that a key or a command asks for: the Tuning of the Targets, or one of
// the Order's Requests, Undo, Isolate and Include. The targets were fixed when it was asked
// for: however a list moves meanwhile, they stay what they are.
type Request struct {
	What    string // "pin", as messages begin
	Subject string // "nqueens (3641)"
	Targets []change.Target
	Tuning  Tuning
	change.Order
}

// Partitions reports whether the request isolates or includes CPUs.
func (r *Request) Partitions() bool { return r.Isolate+r.Include != "" }

// Proposal is what a Request would change.
type Proposal struct {
	change.Plan
	Choices   []place.Choice      // of a Strategy
	Isolation partition.Isolation // of an Isolate
}

// Deps is what tuning works with.
type Deps struct {
	*change.Tuner
	// Model is the machine as it was last seen; only a Strategy needs it.
	Model *model.Model
	// Rate is what a search on a made-up machine judges by; nil: it finds a rate.
	Rate func(pids []kernel.TID) auto.Grown
	// Look reads the machine for Isolate and Include; nil: this one.
	Look func() (partition.Facts, error)
	// Given are CPUs that targets were given too short a time ago for the Model to show it.
	Given []Given
}

// Given is the CPUs that a target was given.
type Given struct {
	change.Target
	CPUs cpuset.Set
}

// Plan finds out what a Request would change, and changes nothing; Deps.Apply carries the
// Plan out.
func (d Deps) Plan(ctx context.Context, r Request) (p Proposal, err error) {
	switch {
	case r.Undo != nil:
		p.Plan, err = d.PlanUndo(ctx, *r.Undo)
	case r.Partitions():
		var cpus cpuset.Set
		if cpus, err = cpuset.Parse(r.Isolate + r.Include); err != nil {
			return p, err
		}
		if r.Include != "" {
			p.Plan, err = d.machine().Include(ctx, cpus, false)
			return p, err
		}
		p.Plan, p.Isolation, err = d.machine().Isolate(ctx, cpus)
	case r.Tuning.NiceBy != 0:
		p.Plan, err = planNice(ctx, d, r.Targets, r.Tuning)
	case len(r.Targets)+len(r.Tuning.Groups) > 0:
		return d.tune(ctx, r.Targets, r.Tuning)
	default:
		p.Plan, err = d.Tuner.Plan(ctx, r.Requests)
	}
	return p, err
}

func (d Deps) machine() partition.Machine { return partition.Machine{Tuner: d.Tuner, Look: d.Look} }

// Settle looks at isolated CPUs once the plan was carried out.
func (d Deps) Settle(i *partition.Isolation, o *change.Outcome) error {
	return d.machine().Settle(i, o)
}

func (d Deps) tune(ctx context.Context, targets []change.Target, t Tuning) (p Proposal, err error) {
	requests, choices, refused, err := Requests(d, targets, t)
	if err != nil {
		return p, err
	}
	p.Choices = choices
	p.Plan, err = d.Tuner.Plan(ctx, requests)
	p.Changes = append(p.Changes, refused...)
	d.watchOwn(&p.Plan, targets)
	return p, err
}

// moves are the migrations a second from which on a process may be one that sets its own
// affinity, which has to be watched to be known.
const moves = 20

// watchOwn warns of a process that sets its own affinity: it may be one if it migrates that
// often, or has the CPUs already that it would be given.
func (d Deps) watchOwn(plan *change.Plan, targets []change.Target) {
	same := !slices.ContainsFunc(plan.Changes, func(c change.Change) bool { return c.Status != attr.Unchanged })
	migrates := d.Model != nil && slices.ContainsFunc(targets, func(t change.Target) bool {
		i, ok := Find(d.Model, t)
		return ok && d.Model.Tasks[i].MigPerS >= moves
	})
	if !migrates && (!same || len(targets) != 1) {
		return
	}
	switch own := d.Tuner.SetsItself(plan.Changes); {
	case own == "":
	case same:
		plan.Changes[0].Reason = own + ": a pin will not hold"
	default:
		plan.Warnings = append(plan.Warnings, change.Note(own+": a pin will not hold"))
	}
}

// Requests are a Tuning as a change.Plan takes it, so that several can be planned
// together; NiceBy is none. Targets for which a Strategy finds no CPU are refused instead.
func Requests(d Deps, targets []change.Target, t Tuning) (requests []change.Request, choices []place.Choice, refused []change.Change, err error) {
	if t.Strategy == "" {
		files, err := groupSettings(d.Tuner, t)
		return []change.Request{{Targets: targets, Set: memoryFollows(t.Set), Files: files, Reason: t.Reason}}, nil, nil, err
	}
	return choose(d, targets, t)
}

// groupSettings are what a Tuning sets of the groups that it names, each of which there must be.
func groupSettings(t *change.Tuner, want Tuning) (files []attr.FileSetting, err error) {
	for _, path := range want.Groups {
		for _, s := range want.Set {
			o, none := t.GroupAt(path, s.Attribute)
			files, err = append(files, attr.SetFile(s.Attribute, o.Path, o.Name, s.Value)), errors.Join(err, none)
		}
	}
	return files, err
}

// memoryFollows joins settings, and gives the wish for memory near the CPUs that they
// set these CPUs.
func memoryFollows(set []attr.Setting, more ...attr.Setting) []attr.Setting {
	set = slices.Concat(set, more)
	cpus, given := change.Request{Set: set}.Affinity()
	for i, s := range set {
		if m, ok := s.Value.(attr.MemoryValue); ok && given && m.Near && m.CPUs.Empty() {
			set[i] = attr.SetMemoryNear(attr.CPUs(cpus))
		}
	}
	return set
}
