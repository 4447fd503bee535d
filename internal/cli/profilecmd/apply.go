package profilecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/profile"
)

const applyLong = `Apply a profile: one of piton save, the rtctl groups that tuna save wrote, or a sysctl profile of tuna or tuned.
Settings that are as in the profile already are not changed. Each change can be undone.

--check prints the plan, changes nothing and exits with 5 if anything would change.
An item that matches nothing on this machine is reported, and the exit code is 3, unless it is optional.
"-" reads standard input.
With -o json: missing lines, then those of every change (see piton schema).`

type profileOptions struct {
	apply changes.Options
	check bool
}

func newApply(a *app.App) *cobra.Command {
	var o profileOptions
	cmd := &cobra.Command{
		Use:     "apply FILE",
		Short:   "apply a profile to the machine",
		Long:    applyLong,
		Example: "  piton apply rt.toml --check\n  piton apply rt.toml --revert-after 30s\n  ssh db-3 piton apply - --yes < rt.toml",
		GroupID: app.GroupTune,
		Args:    flags.OneArg("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runApply(cmd.Context(), a, args[0], o)
		},
	}
	o.apply.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.check, "check", false, "print the plan, change nothing, and exit 5 if anything would change")
	return cmd
}

func runApply(ctx context.Context, a *app.App, file string, o profileOptions) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	p, err := readProfile(a, file, !o.check && !o.apply.DryRun)
	if err != nil {
		return err
	}
	t, err := a.Tuner()
	if err != nil {
		return err
	}
	r, err := resolve(a, p)
	if err != nil {
		return err
	}
	printMissing(a, r, o.apply.Output)
	plan, err := profilePlan(ctx, a, t, p, r, file)
	if err != nil {
		return err
	}
	empty := len(plan.Changes) == 0 && o.apply.Output.Value == output.AsTable
	if empty {
		fmt.Fprintf(a, "nothing to change: %d settings are as they should be\n", len(r.Wants))
	}
	switch {
	case o.check:
		preview := plan.Preview()
		end := cmp.Or(changes.Error(preview), missingError(r))
		if plan.WillChange() {
			end = exit.With(exit.Drift, fmt.Errorf("%d settings are not as they should be", preview.Count(attr.Planned)))
		}
		if o.apply.DryRun = true; !empty {
			changes.Print(a, preview, o.apply, exit.Code(end))
		}
		return end
	case empty:
		return missingError(r)
	}
	o.apply.Tolerate = func(c change.Change) bool {
		return r.Isolated[c.Path] && (c.Status == attr.Failed || c.Status == attr.Refused) && errors.Is(c.Err, attr.ErrNotSupported)
	}
	o.apply.Unmatched = missingError(r)
	return changes.Apply(ctx, a, t, plan, o.apply)
}

// profilePlan plans what a profile wants. A profile that isolates CPUs is resolved again
// for tasks that were started meanwhile.
func profilePlan(ctx context.Context, a *app.App, t *change.Tuner, p *profile.Profile, r *profile.Resolution, file string) (change.Plan, error) {
	reason, origin := "profile "+fileName(file), journal.Origin{Kind: journal.ByProfile}
	if r.SetsApart() {
		reason, origin.CPUs = reason+"; isolate "+r.Isolates.String(), r.Isolates
	}
	plan, err := t.Plan(ctx, r.Requests(reason))
	if err != nil {
		return plan, err
	}
	plan.Origin = origin
	plan.Changes = append(plan.Changes, r.Blocked()...)
	if r.Isolates.Empty() || !plan.WillChange() {
		return plan, nil
	}
	plan.Need(change.Isolation, "isolating %s leaves %s for everything else, the SSH line included", r.Isolates, r.Rest)
	plan.Sweep, plan.AtTicks = isolating{a, p, reason}, r.Ticks
	return plan, nil
}

// isolating is the Sweep of a profile that isolates CPUs.
type isolating struct {
	a      *app.App
	p      *profile.Profile
	reason string
}

func (isolating) Again(_ context.Context, p change.Plan) (change.Plan, error) { return p, nil }

func (i isolating) More(context.Context) ([]change.Request, error) {
	r, err := resolve(i.a, i.p)
	if err != nil {
		return nil, err
	}
	return r.Requests(i.reason), nil
}
