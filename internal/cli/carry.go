package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"piton/internal/change"
	"piton/internal/change/attr"
)

// applyOptions are the flags of everything that changes something.
type applyOptions struct {
	output output
	dryRun bool
	yes    bool
	// revertAfter, when given, is how long a change stays without a confirmation.
	revertAfter length
	// cede, when not nil, reports the changes that may fail; they are left out.
	cede func(change.Change) bool
	// sweep: the change is of the whole machine, and what reads the same shares a row.
	sweep bool
	// settle, when not nil, looks again once the plan was carried out.
	settle func(*change.Outcome)
	// then, when not nil, goes on once all is done.
	then func(context.Context) error
	// partly is the run's end where some of what was asked for means nothing, which has
	// been reported, and nothing else goes wrong.
	partly error
}

func (o *applyOptions) addFlags(fs *pflag.FlagSet) {
	o.output.addFlag(fs, asTable, asJSON, asCSV)
	o.addApplyFlags(fs)
}

func (o *applyOptions) addApplyFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.dryRun, "dry-run", false, "print what would be changed, and change nothing")
	o.revertAfter = length{interval: interval{min: 100 * time.Millisecond, max: 24 * time.Hour}}
	fs.Var(&o.revertAfter, "revert-after", "revert it after this time unless piton keep confirms it, also when this terminal is gone")
	fs.BoolVar(&o.yes, "yes", false, "do it although it is dangerous: real-time on a busy task or on every CPU, most of the machine's processes")
}

func (o *applyOptions) consent() change.Consent {
	c := change.Consent{Yes: o.yes}
	if o.revertAfter.given {
		c.RevertAfter = o.revertAfter.d
	}
	return c
}

// change plans a change and carries it out.
func (a *app) change(ctx context.Context, o applyOptions, plan func(context.Context, *change.Tuner) (change.Plan, error)) error {
	ctx, stop := a.interruptible(ctx)
	defer stop()
	t, err := a.tuner()
	if err != nil {
		return err
	}
	p, err := plan(ctx, t)
	if err != nil {
		return err
	}
	return a.carryOut(ctx, t, p, o)
}

// carryOut carries a plan out, or only prints it, and reports the outcome.
func (a *app) carryOut(ctx context.Context, t *change.Tuner, plan change.Plan, o applyOptions) error {
	switch {
	case o.dryRun:
		return a.report(plan.Preview(), o, nil)
	case a.writeErr != nil: // the user could not read what is to be known before
		return a.writeErr
	}
	outcome, err := t.Carry(ctx, plan, o.consent())
	if len(outcome.Changes) == 0 && err != nil {
		switch {
		case !errors.Is(err, change.ErrNeedsConsent):
		case o.output.json():
			a.printChanges(change.Outcome{Changes: refused(plan)}, o, ExitFailed)
		case o.sweep:
			a.printChanges(change.Outcome{Changes: plan.Changes}, o, ExitFailed)
		}
		return err
	}
	if o.settle != nil {
		o.settle(&outcome)
	}
	if end := a.report(outcome, o, err); end != nil || o.then == nil {
		return end
	}
	return o.then(ctx)
}

// refused are the changes of a plan without the consent that it needs.
func refused(plan change.Plan) []change.Change {
	changes := slices.Clone(plan.Changes)
	for i := range changes {
		if c := &changes[i]; c.Status == attr.Planned {
			c.Refuse("%s", plan.Danger())
		}
	}
	return changes
}

// report prints an outcome; err is what ended the run early.
func (a *app) report(r change.Outcome, o applyOptions, err error) error {
	if o.cede != nil {
		r.Changes = slices.DeleteFunc(slices.Clone(r.Changes), o.cede)
	}
	a.changed = a.changed || r.Changed() && !o.dryRun
	end := cmp.Or(ended(r, err), o.partly)
	a.printChanges(r, o, exitCode(end))
	a.announce(r.Guard, o)
	return end
}

// announce says how to confirm a change that is under guard.
func (a *app) announce(g change.Guard, o applyOptions) {
	if g == nil {
		return
	}
	st := g.Status()
	confirm := fmt.Sprintf("piton keep %d", st.Entry)
	if o.output.json() {
		var l line
		l.start("guard").add("entry", st.Entry).add("guard_pid", st.PID).add("revert_after_s", st.After.Seconds()).
			add("deadline", stamp(time.Now().Add(st.After))).add("confirm", confirm).add("caveats", list(st.Caveats)).write(a)
		return
	}
	if len(st.Caveats) > 0 {
		a.warn("the guard is not fully protected: %s", strings.Join(st.Caveats, "; "))
	}
	a.warn("entry %d is reverted in %v unless you confirm it: %s", st.Entry, st.After, confirm)
}
