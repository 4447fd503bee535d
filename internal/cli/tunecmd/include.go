package tunecmd

import (
	"context"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/flags"
	"piton/internal/partition"
)

func newInclude(a *app.App) *cobra.Command {
	var o changes.Options
	force := false
	cmd := &cobra.Command{
		Use:   "include CPUS",
		Short: "restore isolated CPUs, with every pin as it was",
		Long: `Restore isolated CPUs to the threads, interrupts and masks that piton isolate removed them from, and to no others.
Tasks that were pinned elsewhere stay there. CPUs may be some of the isolated ones; the others stay isolated.
Threads born since, with the rest of their parent's affinity, get what the parent gets.
A value that somebody else has set since is left alone unless --force is given.

CPUs that piton did not isolate are added to the affinity that most threads have, if that lacks them,
to interrupt lines that have the default affinity, to that default, and to the workqueues.

` + flags.CPUsHelp + "\n\n" + `With -o json: change lines and a summary (see piton schema change).`,
		Example: "  piton include 4-7\n  piton include node:1 --dry-run",
		GroupID: app.GroupTune,
		Args:    flags.OneCPUs,
		RunE: func(cmd *cobra.Command, args []string) error {
			cpus, err := a.CPUs(args[0])
			if err != nil {
				return err
			}
			o.Grouped = true
			return changes.Undo(cmd.Context(), a, o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
				return partition.Machine{Tuner: t}.Include(ctx, cpus, force)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also what somebody else has changed since")
	o.AddFlags(cmd.Flags())
	return cmd
}
