package irqcmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/irq"
)

const irqLong = `Show the interrupt lines: the rate of each, its top CPU, the CPUs requested (AFFINITY) and in use (EFFECTIVE),
whether they can be set (CONTROL), and the device, driver, queue, handlers and handler threads.

CONTROL is settable, managed (its driver spread the device's queues; the kernel refuses any other affinity), fixed
(a timer, or a line that its chip cannot route) or unknown (before Linux 6.12 only a try shows it).
The last lines are the interrupts without a number, and the softirqs; they follow the tasks and interrupts of a CPU.
Rates take an interval to measure, a second by default; --now prints at once, without them.

With -o json, one object a line: irq (also the lines with names), softirq, end; see piton schema irq.
With -o csv, one table: type is irq or softirq.`

type irqListOptions struct {
	output output.Format
	delay  flags.Interval
	now    bool
	filter string
	cpu    string
}

// NewHint makes piton irq hint. The laboratory has it.
var NewHint func(*app.App) *cobra.Command

func newIRQ(a *app.App) *cobra.Command {
	list := newIRQList(a)
	cmd := &cobra.Command{
		Use:     "irq",
		Short:   "show interrupts, their rates, affinity, devices and queues, and move them",
		Long:    irqLong,
		Example: list.Example,
		GroupID: app.GroupLook,
	}
	cmd.AddCommand(list, newIRQDefault(a), newIRQQueues(a), newIRQFollow(a))
	if NewHint != nil {
		cmd.AddCommand(NewHint(a))
	}
	for _, v := range irqVerbs {
		cmd.AddCommand(v.command(a))
	}
	flags.NeedsCommand(cmd)
	return cmd
}

func newIRQList(a *app.App) *cobra.Command {
	o := irqListOptions{delay: flags.Interval{Duration: time.Second, Min: 100 * time.Millisecond, Max: time.Minute}}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list interrupt lines with their rates over an interval",
		Long:  irqLong,
		Example: "  piton irq list\n  piton irq list --now\n  piton irq list -d 5s --filter eth0\n  piton irq list -o json --filter 'nvme managed'\n" +
			"  piton irq queues",
		Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.now && o.delay.Given {
				return exit.Usagef("give --now or --delay, not both")
			}
			return runIRQList(cmd.Context(), a, o)
		},
	}
	o.output.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON, output.AsCSV)
	cmd.Flags().VarP(&o.delay, "delay", "d", "time over which rates are taken")
	cmd.Flags().BoolVar(&o.now, "now", false, "print at once, without rates")
	cmd.Flags().StringVar(&o.cpu, "cpu", "", "only lines that may come to one of these `CPUS`")
	cmd.Flags().StringVar(&o.filter, "filter", "", "only lines in which all these `WORDS` are: a number, handler, device, driver, queue, control")
	flags.Optional.Add(cmd.Flags(), "filter")
	return cmd
}

func runIRQList(ctx context.Context, a *app.App, o irqListOptions) error {
	t, err := o.table(ctx, a)
	if err != nil {
		return err
	}
	if t.Odd != nil {
		a.Warn("%v", t.Odd)
	}
	if err := linesOn(a, o.cpu, &t); err != nil {
		return err
	}
	numbered, named, softirqs := field.Interrupts(&t, o.filter, !o.output.JSON())
	if o.output.JSON() {
		irqList.Write(a, append(slices.Clip(numbered), named...), o.output)
		softirqList.Write(a, softirqs, o.output)
		irqEndList.JSON(a, irqEnd{&t, len(numbered)})
		return nil
	}
	bothList.Write(a, slices.Concat(numbered, named, softirqs), o.output)
	if o.output.Value == output.AsTable && !t.Default.Empty() {
		fmt.Fprintf(a, "\nnew lines get CPUs %s (default_smp_affinity)\n", t.Default)
	}
	return nil
}

// table reads the interrupts, with their rates unless they are wanted now.
func (o *irqListOptions) table(ctx context.Context, a *app.App) (irq.Table, error) {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	monitor := irq.NewMonitor(a.HostRoot)
	t, err := monitor.Table()
	if err == nil && !o.now {
		select {
		case <-time.After(o.delay.Duration):
		case <-ctx.Done():
			return t, ctx.Err()
		}
		t, err = monitor.Table()
	}
	if err != nil {
		return t, fmt.Errorf("look at the interrupts: %w", err)
	}
	return t, nil
}

// linesOn leaves only the lines that are asked to go to one of the CPUs; those
// without a number belong to no list of CPUs.
func linesOn(a *app.App, cpus string, t *irq.Table) error {
	if cpus == "" {
		return nil
	}
	set, err := a.FlagCPUs("--cpu", cpus)
	if err != nil {
		return err
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r irq.Row) bool { return r.Requested.And(set).Empty() })
	t.Named, t.SoftIRQs = nil, nil
	return nil
}
