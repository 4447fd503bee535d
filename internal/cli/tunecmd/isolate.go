package tunecmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/partition"
)

const isolateJSON = `With -o json: change lines for what is changed, unmovable lines for what stays on the CPUs, a summary; with --verify a
gap line for each time in which a thread that spun there did not run, a stay line for everything that still ran there, a
gaps line for each that took of the gaps, and a verified line (see piton schema).`

type isolateOptions struct {
	apply  changes.Options
	verify flags.Interval
}

func newIsolate(a *app.App) *cobra.Command {
	o := isolateOptions{verify: flags.Interval{Min: time.Second, Max: time.Hour}}
	cmd := &cobra.Command{
		Use:   "isolate CPUS",
		Short: "move tasks and interrupts off CPUs, and keep them off",
		Long: `Remove CPUs from the affinity of every thread, kernel threads and piton included, of every interrupt line,
from the default of new interrupt lines, from unbound workqueues and from RPS.
A thread or line that may run nowhere else gets all the other CPUs.
Tasks and interrupts that cannot be moved (kernel threads of one CPU, managed interrupts, DEADLINE tasks, groups
limited to those CPUs) are listed with the reason, and the rest is moved.
It exits with 0 if only those are left, with 3 if something that can be moved was not.

It needs --yes, or --revert-after 15s and then piton keep, as ordinary tasks are left with fewer CPUs.
piton include restores the CPUs, with every pin as it was; so does piton undo.
Then pin to the isolated CPUs the tasks that they are for: piton pin.

With --verify a thread spins on each of the CPUs and reads the clock, as the kernel's osnoise tracer does. Each time
in which it did not run is a gap, and eBPF programs tell what took it: a task, an interrupt, a softirq, an NMI, or
nothing of the kernel, which is firmware (SMI) or the hypervisor. Without eBPF gaps have no names.

` + flags.CPUsHelp + "\n\n" + isolateJSON,
		Example: "  piton isolate 4-7 --dry-run\n  piton isolate node:1 --revert-after 30s\n  piton isolate 2-3 --yes --verify 10s",
		GroupID: app.GroupTune,
		Args:    flags.OneCPUs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return isolate(cmd.Context(), a, args[0], o)
		},
	}
	cmd.Flags().Var(&o.verify, "verify", "then watch the CPUs for this time, and list what still ran there and each gap")
	o.apply.AddFlags(cmd.Flags())
	return cmd
}

func isolate(ctx context.Context, a *app.App, expr string, o isolateOptions) error {
	if o.verify.Given && o.apply.DryRun {
		return exit.Usagef("--verify and --dry-run exclude each other")
	}
	cpus, err := a.CPUs(expr)
	if err != nil {
		return err
	}
	var m partition.Machine
	var isolation partition.Isolation
	p := &unmovablePrinter{App: a, o: o.apply.Output, cpus: cpus}
	o.apply.Grouped = true
	o.apply.After = func(r *change.Outcome) {
		if err := m.Settle(&isolation, r); err != nil {
			a.Warn("the CPUs were not read again: %v", err)
			return
		}
		p.after(isolation, r)
	}
	if o.verify.Given {
		o.apply.Then = func(ctx context.Context) error {
			if err := verifyIsolation(ctx, a, cpus, o); err != nil {
				return fmt.Errorf("%s isolated, but not verified: %w", cpus.InWords(), err)
			}
			return nil
		}
	}
	return changes.Run(ctx, a, o.apply, func(ctx context.Context, t *change.Tuner) (plan change.Plan, err error) {
		m.Tuner = t
		if plan, isolation, err = m.Isolate(ctx, cpus); err == nil {
			p.print("before", isolation.Immovable)
		}
		return plan, err
	})
}
