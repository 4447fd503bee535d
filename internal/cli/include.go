package cli

import (
	"context"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/partition"
)

func newInclude(a *app) *cobra.Command {
	var o applyOptions
	force := false
	cmd := &cobra.Command{
		Use:   "include CPUS",
		Short: "include isolated CPUs again, with every pin as it was",
		Long: `Give CPUs that piton isolate set apart back to the threads, interrupts and masks that it took them from, and to nothing
else: what was pinned elsewhere stays there. Some of the isolated CPUs may be named; the others stay apart. What was
born since, with what was left of its parent's affinity, gets what the parent gets. What somebody else has changed
since is left alone unless --force is given.

CPUs that piton did not isolate are added to the affinity of the threads that have the one that most have, if that
lacks them, to interrupt lines that have the default, and to the default and the workqueues.

` + cpusHelp + "\n\n" + `With -o json: {"type":"change"} and {"type":"summary"} lines (see piton headless).`,
		Example: "  piton include 4-7\n  piton include node:1 --dry-run",
		GroupID: groupTune,
		Args:    oneArg("CPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cpus, err := a.realCPUs(args[0])
			if err != nil {
				return err
			}
			o.sweep = true
			return a.change(cmd.Context(), o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
				return partition.Machine{Tuner: t}.Include(ctx, cpus, force)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also what somebody else has changed since")
	o.addFlags(cmd.Flags())
	return cmd
}
