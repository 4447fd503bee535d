package rulescmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rules/daemon"
)

func newStop(a *app.App) *cobra.Command {
	var o changes.Options
	undo := false
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "end piton rules run",
		Long: `End piton rules run of this user, and wait until it has ended. What it did stays in force.
--undo also undoes what rules did to processes that still run, as piton undo does; that works without a piton rules run, too.
With -o json: a stopped line, then those of changes (see piton schema).`,
		Example: "  piton rules stop\n  piton rules stop --undo",
		Args:    flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStop(cmd.Context(), a, undo, o)
		},
	}
	o.Output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	cmd.Flags().BoolVar(&undo, "undo", false, "also undo what rules did and is still in force")
	return cmd
}

var stoppedList = output.NewList("rules", "stopped", "the piton rules run that was ended",
	output.Col("pid", "", output.Int, "process", func(h daemon.Holder) any { return int(h.PID) }),
	output.Col("command", "", output.Text, "how it was started", func(h daemon.Holder) any { return h.Command }))

func runStop(ctx context.Context, a *app.App, undo bool, o changes.Options) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	j, err := a.JournalToRead()
	if err != nil {
		return err
	}
	h, err := daemon.NewInstance(kernel.EUID(), j.Path()).Stop(ctx)
	switch {
	case errors.Is(err, daemon.ErrNotRunning) && undo:
		a.Warn("%v", err)
	case err != nil:
		return err
	case o.Output.JSON():
		stoppedList.JSON(a, h)
	default:
		fmt.Fprintf(a, "process %d has ended: %s\n", h.PID, h.Command)
	}
	if !undo {
		return nil
	}
	entries, _, err := j.Entries()
	if err != nil {
		return err
	}
	ids := daemon.InForce(procfs.New(a.HostRoot), entries)
	if len(ids) == 0 {
		a.Warn("there is nothing to undo: no change by a rule is in force")
		return nil
	}
	return changes.Undo(ctx, a, o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
		return t.PlanUndo(ctx, change.UndoRequest{IDs: ids})
	})
}
