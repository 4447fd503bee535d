package cli

import (
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/tune"
)

// applyOptions are the flags of everything that changes tasks.
type applyOptions struct {
	output output
	dryRun bool
	yes    bool
	// revertAfter, when given, is how long a change stays without a confirmation.
	revertAfter length
	// cede, when not nil, says of which changes it is no failure that they could not
	// be made; they are left out.
	cede func(tune.Change) bool
	// partly is how a run ends in which nothing else goes wrong, where some of what was
	// asked for means nothing; that has been told.
	partly error
}

func (o *applyOptions) addFlags(fs *pflag.FlagSet) {
	o.output.addFlag(fs, asTable, asJSON, asCSV)
	o.addApplyFlags(fs)
}

func (o *applyOptions) addApplyFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.dryRun, "dry-run", false, "print what would be changed, and change nothing")
	o.revertAfter = length{interval{min: 100 * time.Millisecond, max: 24 * time.Hour}}
	fs.Var(&o.revertAfter, "revert-after", "take it back after this time unless piton keep confirms it, whatever becomes of this terminal")
	fs.BoolVar(&o.yes, "yes", false, "do it although it is dangerous: real-time on a busy task, or on every CPU")
}

// journal opens the journal of whoever runs piton.
func (a *app) journal() (*tune.Journal, error) {
	if !a.live() {
		return nil, tune.ErrNotLive
	}
	j, err := tune.OpenJournal(tune.JournalPath(a.getenv, kernel.EUID()))
	if err != nil {
		return nil, fmt.Errorf("nothing is changed without a journal, or it could not be undone: %w", err)
	}
	return j, nil
}

// tuner returns a Tuner for this run.
func (a *app) tuner() (*tune.Tuner, error) {
	if a.readonly {
		return nil, errReadOnly
	}
	j, err := a.journal()
	if err != nil {
		return nil, err
	}
	return a.tunerWith(j), nil
}

func (a *app) tunerWith(j *tune.Journal) *tune.Tuner {
	return tune.New(tune.Options{
		Proc: procfs.New(a.hostRoot), Journal: j, User: a.userName(),
		Command: strings.Join(append([]string{"piton"}, a.Args...), " "),
	})
}

// userName says who asks, for the journal.
func (a *app) userName() string {
	if sudo := a.getenv("SUDO_USER"); sudo != "" {
		return sudo + " (sudo)"
	}
	if name := a.getenv("USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint(kernel.EUID())
}

// carryOut applies a plan, or prints it, and says what became of it.
func (a *app) carryOut(ctx context.Context, t *tune.Tuner, plan tune.Plan, o applyOptions) error {
	if o.dryRun {
		return a.report(tune.Result{Changes: plan.Changes, Warnings: plan.Warnings}, o, nil)
	}
	if reason := danger(plan); reason != "" && !o.yes && !o.revertAfter.given {
		return a.refuse(plan, o, reason)
	}
	plan.Yes = o.yes || o.revertAfter.given
	result, err := a.apply(ctx, t, plan, o)
	result.Warnings = append(append([]string{}, plan.Warnings...), result.Warnings...)
	if err != nil && len(result.Changes) == 0 {
		return err
	}
	return a.report(result, o, err)
}

// danger is what --yes must be given for, "" if there is none.
func danger(p tune.Plan) string {
	if p.NeedsYes != "" {
		return p.NeedsYes
	}
	return p.Trial
}

// refuse reports a plan that is too dangerous to carry out unasked.
func (a *app) refuse(plan tune.Plan, o applyOptions, reason string) error {
	text := fmt.Errorf("refused: %s; --yes does it all the same, --revert-after 15s takes it back unless you confirm it", reason)
	if o.output.json() {
		changes := append([]tune.Change(nil), plan.Changes...)
		for i := range changes {
			if changes[i].Status == tune.Planned {
				changes[i].Status, changes[i].Reason = tune.Refused, reason
			}
		}
		if err := a.printChanges(tune.Result{Changes: changes}, o.output, false, ExitFailed); err != nil {
			return err
		}
	}
	return codeError{ExitFailed, text}
}

// report prints a result; err is what ended the run early.
func (a *app) report(r tune.Result, o applyOptions, err error) error {
	if o.cede != nil {
		r.Changes = slices.DeleteFunc(slices.Clone(r.Changes), o.cede)
	}
	outcome := err
	if outcome == nil {
		outcome = resultError(r)
	}
	if outcome == nil {
		outcome = o.partly
	}
	if err := a.printChanges(r, o.output, o.dryRun, exitCode(outcome)); err != nil {
		return err
	}
	return outcome
}
