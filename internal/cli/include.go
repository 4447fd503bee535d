package cli

import (
	"context"

	"github.com/spf13/cobra"
)

type includeOptions struct {
	apply applyOptions
	force bool
}

func newInclude(a *app) *cobra.Command {
	var o includeOptions
	cmd := &cobra.Command{
		Use:   "include CPUS",
		Short: "take isolated CPUs in again, with every pin as it was",
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
			return runInclude(cmd.Context(), a, args[0], o)
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "also what somebody else has changed since")
	o.apply.addFlags(cmd.Flags())
	return cmd
}

func runInclude(ctx context.Context, a *app, expr string, o includeOptions) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	cpus, err := a.realCPUs(expr)
	if err != nil {
		return err
	}
	ctx, stop := a.interruptible(ctx)
	defer stop()
	plan, _, err := m.Include(ctx, cpus, o.force)
	if err != nil {
		return err
	}
	p := &sweepPrinter{app: a, o: o.apply, cpus: cpus}
	result, failed, done := p.carry(ctx, m.Tuner, plan)
	if !done {
		return failed
	}
	return p.finish(result, failed)
}
