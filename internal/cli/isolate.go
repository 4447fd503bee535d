package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/partition"
)

const isolateJSON = `With -o json, one object a line: {"type":"change"} for every thread, interrupt and mask that is changed (see piton
headless), {"type":"unmovable"} for each that stays on the CPUs: when (before, after), kind (task, irq, mask), tid, irq, path,
name, cpus, why, do; and {"type":"summary"}, with processes, threads and files.`

type isolateOptions struct {
	apply  applyOptions
	verify interval
}

func newIsolate(a *app) *cobra.Command {
	o := isolateOptions{verify: interval{min: time.Second, max: time.Hour}}
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

` + cpusHelp + "\n\n" + isolateJSON + `
With --verify, one {"type":"stay"} for everything that still ran there: cpu, kind (task, irq, softirq, interrupt), tid, irq,
name, run_ns, share, longest_ns (null where only the number of times is known), times, why, do; then {"type":"verified"}: span_s, stays.`,
		Example: "  piton isolate 4-7 --dry-run\n  piton isolate node:1 --revert-after 30s\n  piton isolate 2-3 --yes --verify 10s",
		GroupID: groupTune,
		Args:    oneCPUs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.isolate(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().Var(&o.verify, "verify", "then watch the CPUs for this time, and list what still ran there")
	o.apply.addFlags(cmd.Flags())
	return cmd
}

func (a *app) isolate(ctx context.Context, expr string, o isolateOptions) error {
	if o.verify.given && o.apply.dryRun {
		return usagef("--verify and --dry-run exclude each other")
	}
	cpus, err := a.realCPUs(expr)
	if err != nil {
		return err
	}
	var m partition.Machine
	var isolation partition.Isolation
	p := &stayingPrinter{app: a, o: o.apply.output, cpus: cpus}
	o.apply.sweep = true
	o.apply.settle = func(r *change.Outcome) {
		if err := m.Settle(&isolation, r); err != nil {
			a.warn("the CPUs were not read again: %v", err)
			return
		}
		p.after(isolation, r)
	}
	if o.verify.given {
		o.apply.then = func(ctx context.Context) error {
			if err := verifyIsolation(ctx, a, cpus, o); err != nil {
				return fmt.Errorf("%s isolated, but not verified: %w", cpus.InWords(), err)
			}
			return nil
		}
	}
	return a.change(ctx, o.apply, func(ctx context.Context, t *change.Tuner) (plan change.Plan, err error) {
		m.Tuner = t
		if plan, isolation, err = m.Isolate(ctx, cpus); err == nil {
			p.print("before", isolation.Staying)
		}
		return plan, err
	})
}
