// Package changes is what commands that change something have in common: their flags, and
// how a plan is carried out (changes.go) and printed (print.go).
package changes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
)

// Options are the flags of everything that changes something.
type Options struct {
	Output output.Format
	DryRun bool
	Yes    bool
	// revertAfter, when given, is the time after which an unconfirmed change is reverted.
	revertAfter flags.Interval
	// Tolerate, when not nil, reports failed changes that do not count; they are left out.
	Tolerate func(change.Change) bool
	// Grouped: the change is of the whole machine, and what reads the same shares a row.
	Grouped bool
	// After, when not nil, reads the machine again once the plan was carried out.
	After func(*change.Outcome)
	// Then, when not nil, continues the run once all is done.
	Then func(context.Context) error
	// Unmatched, when not nil, is the end of a run that else succeeds: some of what was asked
	// for matches nothing, which has been reported.
	Unmatched error
}

// AddFlags adds the flags of a command.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Output.AddFlag(fs, output.AsTable, output.AsJSON, output.AsCSV)
	o.AddChangeFlags(fs)
}

// AddChangeFlags adds the flags without the output format.
func (o *Options) AddChangeFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be changed, and change nothing")
	o.revertAfter = flags.Interval{Min: 100 * time.Millisecond, Max: 24 * time.Hour}
	fs.Var(&o.revertAfter, "revert-after", "revert it after this time unless piton keep confirms it, also when this terminal is gone")
	fs.BoolVar(&o.Yes, "yes", false, "do it although it is dangerous: real-time on a busy task or on every CPU, most of the machine's processes, what only a reboot undoes")
}

func (o *Options) confirmation() change.Confirmation {
	c := change.Confirmation{Yes: o.Yes}
	if o.revertAfter.Given {
		c.RevertAfter = o.revertAfter.Duration
	}
	return c
}

// Planner makes a plan.
type Planner = func(context.Context, *change.Tuner) (change.Plan, error)

// Run plans a change and carries it out.
func Run(ctx context.Context, a *app.App, o Options, plan Planner) error {
	return run(ctx, a, o, a.Tuner, plan)
}

// Undo is Run of a plan that undoes.
func Undo(ctx context.Context, a *app.App, o Options, plan Planner) error {
	return run(ctx, a, o, a.Undoer, plan)
}

func run(ctx context.Context, a *app.App, o Options, tuner func() (*change.Tuner, error), plan Planner) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	t, err := tuner()
	if err != nil {
		return err
	}
	p, err := plan(ctx, t)
	if err != nil {
		return err
	}
	return Apply(ctx, a, t, p, o)
}

// Apply carries a plan out, or only prints it, and reports the outcome.
func Apply(ctx context.Context, a *app.App, t *change.Tuner, plan change.Plan, o Options) error {
	switch {
	case o.DryRun:
		return Report(a, plan.Preview(), o, nil)
	case a.WriteErr != nil: // the warnings about the plan could not be printed
		return a.WriteErr
	}
	outcome, err := t.Apply(ctx, plan, o.confirmation())
	if len(outcome.Changes) == 0 && err != nil {
		switch {
		case !errors.Is(err, change.ErrNeedsConfirmation):
		case o.Output.JSON():
			Print(a, change.Outcome{Changes: refused(plan)}, o, exit.Failed)
		case o.Grouped:
			Print(a, change.Outcome{Changes: plan.Changes}, o, exit.Failed)
		}
		return err
	}
	if o.After != nil {
		o.After(&outcome)
	}
	if end := Report(a, outcome, o, err); end != nil || o.Then == nil {
		return end
	}
	return o.Then(ctx)
}

// refused are the changes of a plan without the confirmation that it needs.
func refused(plan change.Plan) []change.Change {
	changes := slices.Clone(plan.Changes)
	for i := range changes {
		if c := &changes[i]; c.Status == attr.Planned {
			c.Refuse("%s", plan.Danger())
		}
	}
	return changes
}

// Report prints an outcome; err is what ended the run early.
func Report(a *app.App, r change.Outcome, o Options, err error) error {
	if o.Tolerate != nil {
		r.Changes = slices.DeleteFunc(slices.Clone(r.Changes), o.Tolerate)
	}
	a.Changed = a.Changed || r.Changed() && !o.DryRun
	end := cmp.Or(End(r, err), o.Unmatched)
	Print(a, r, o, exit.Code(end))
	announce(a, r, o)
	return end
}

// announce says how to confirm a change that is under guard.
func announce(a *app.App, r change.Outcome, o Options) {
	if r.Guard == nil {
		return
	}
	st := r.Guard.Status()
	if o.Output.JSON() {
		guardList.JSON(a, st)
		return
	}
	if why := st.Fails(r.Changes); why != "" {
		a.Warn("%s", why)
	}
	a.Warn("entry %d is reverted in %v unless you confirm it: %s", st.Entry, st.After, confirmCommand(st.Entry))
}
