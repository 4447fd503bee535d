package cli

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"piton/internal/tune"
)

type undoOptions struct {
	apply applyOptions
	all   bool
	force bool
}

func newUndo(a *app) *cobra.Command {
	var o undoOptions
	cmd := &cobra.Command{
		Use:   "undo [ENTRY…]",
		Short: "take changes back",
		Long: `Give tasks back the values that they had before piton changed them: the last change, the entries
named (see piton journal), or all of this boot. What somebody else has changed since is left alone
unless --force is given; tasks that have ended are only mentioned.`,
		Example: "  piton undo\n  piton undo 12 13\n  piton undo --all --dry-run",
		GroupID: groupTune,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.request(args)
			if err != nil {
				return err
			}
			t, err := a.tuner()
			if err != nil {
				return err
			}
			ctx, stop := a.interruptible(cmd.Context())
			defer stop()
			plan, err := t.PlanUndo(ctx, q)
			if errors.Is(err, tune.ErrNothingToUndo) && o.all {
				return a.report(tune.Result{}, o.apply, nil)
			}
			if err != nil {
				return err
			}
			return a.carryOut(ctx, t, plan, o.apply)
		},
	}
	o.apply.addFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.all, "all", false, "every change of this boot that has not been taken back")
	cmd.Flags().BoolVar(&o.force, "force", false, "also what somebody else has changed since")
	return cmd
}

func (o *undoOptions) request(args []string) (tune.UndoRequest, error) {
	q := tune.UndoRequest{All: o.all, Force: o.force, Last: 1}
	if o.all && len(args) > 0 {
		return q, usagef("--all and %q exclude each other", args[0])
	}
	for _, word := range args {
		id, err := strconv.ParseUint(word, 10, 64)
		if err != nil || id == 0 {
			return q, usagef("%q is not the number of a journal entry (see piton journal)", word)
		}
		q.IDs = append(q.IDs, id)
	}
	return q, nil
}
