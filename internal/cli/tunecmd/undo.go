package tunecmd

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
)

type undoOptions struct {
	apply changes.Options
	all   bool
	since string
	last  flags.Count
	force bool
}

func newUndo(a *app.App) *cobra.Command {
	o := undoOptions{last: flags.Count{Min: 1, Max: 1 << 30}}
	cmd := &cobra.Command{
		Use:   "undo [ENTRY…]",
		Short: "undo changes",
		Long: `Restore the values that tasks, interrupts and other settings had before piton changed them.
Undone are the last change, the entries given by number (see piton journal), the last --last, those --since a time,
or --all of this boot.
A value that somebody else has set since is left alone unless --force is given. Tasks that have ended are listed.
Threads of the same process, and children, that have exactly the value that was set get the value that was there before;
anything else is left alone and listed.
What only a reboot undoes, and entries of another namespace, are named; --all and --since do not fail for them.

TIME is a duration before now (90s, 10m, 2h30m, 3d), a time of today (14:05), or a date with or without a time
(2026-11-20, "2026-11-20 14:05", 2026-11-20T14:05:00Z).`,
		Example: "  piton undo\n  piton undo 12 13\n  piton undo --since 10m\n  piton undo --all --dry-run",
		GroupID: app.GroupTune,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.request(args, time.Now())
			if err != nil {
				return err
			}
			if o.all || o.since != "" {
				o.apply.Tolerate = func(c change.Change) bool {
					final := errors.Is(c.Err, attr.ErrOneWay)
					if final {
						a.Warn("%s of %s %s", c.Attribute.Title(), c.Object.Object(), c.Why())
					}
					return final
				}
			}
			return changes.Undo(cmd.Context(), a, o.apply, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
				plan, err := t.PlanUndo(ctx, q)
				if errors.Is(err, change.ErrNothingToUndo) && (o.all || o.since != "") {
					a.Warn("%v", err)
					return change.Plan{}, nil
				}
				return plan, err
			})
		},
	}
	o.apply.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "every change of this boot that has not been undone")
	cmd.Flags().Var(&o.last, "last", "the last so many changes")
	cmd.Flags().StringVar(&o.since, "since", "", "the changes made since `TIME`: 10m (ago), 14:05, 2026-11-20")
	cmd.Flags().BoolVar(&o.force, "force", false, "also what somebody else has changed since")
	_ = cmd.Flags().MarkHidden("revert-after") // an undo is not reverted by itself
	return cmd
}

func (o *undoOptions) request(args []string, now time.Time) (change.UndoRequest, error) {
	q := change.UndoRequest{All: o.all, Force: o.force, Last: max(o.last.N, 1)}
	if flags.MoreThanOne(len(args) > 0, o.all, o.since != "", o.last.N > 0) {
		return q, exit.Usagef("entries by number, --last, --since and --all exclude each other")
	}
	var err error
	if o.since != "" {
		if q.Since, err = parseSince(o.since, now); err != nil {
			return q, err
		}
	}
	q.IDs, err = entryNumbers(args)
	return q, err
}

// parseSince reads a point in time that has passed: a duration back from now, a
// time of day, a date, or both.
func parseSince(text string, now time.Time) (time.Time, error) {
	at, ok := ago(text, now)
	if day, err := time.ParseInLocation("15:04", text, now.Location()); !ok && err == nil {
		at, ok = time.Date(now.Year(), now.Month(), now.Day(), day.Hour(), day.Minute(), 0, 0, now.Location()), true
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if ok {
			break
		}
		var err error
		at, err = time.ParseInLocation(layout, text, now.Location())
		ok = err == nil
	}
	switch {
	case !ok:
		return at, exit.Usagef("--since %q is neither a duration (10m, 3d) nor a time (14:05, 2026-11-20, \"2026-11-20 14:05\")", text)
	case at.After(now):
		return at, exit.Usagef("--since %s is in the future", text)
	}
	return at, nil
}

// ago reads a duration back from now, days too.
func ago(text string, now time.Time) (time.Time, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 15)
		return now.AddDate(0, 0, -int(n)), err == nil
	}
	d, err := time.ParseDuration(text)
	return now.Add(-d), err == nil && d >= 0
}
