package irqcmd

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/irq"
)

const irqLong = `Show the interrupt lines: the rate of each, its top CPU, the CPUs requested (AFFINITY) and in use (EFFECTIVE),
whether they can be set (CONTROL), and the device, driver, queue, handlers and handler threads.

CONTROL is settable, managed (its driver spread the device's queues; the kernel refuses any other affinity), fixed
(a timer, or a line that its chip cannot route) or unknown (before Linux 6.12 only a try shows it).
The last lines are the interrupts without a number, and the softirqs; they follow the tasks and interrupts of a CPU.
Rates take an interval to measure, a second by default; --now prints at once, without them.

With -o json, one object a line; what is not known is null:
  {"type":"irq"}      v, irq (number; null for named lines), name, count (since boot), per_s, top_cpu, top_per_s,
                      by_cpu (per second, CPUs that had any), affinity, effective, hint (cpulists), control, movable,
                      managed, node, device, address, driver, queue, queue_index, chip, trigger, actions, unhandled,
                      threads (TIDs)
  {"type":"softirq"}  name, count, per_s, top_cpu, top_per_s, by_cpu
  {"type":"end"}      irqs, interval_s (0 with --now), default_affinity`

type irqListOptions struct {
	output output.Format
	delay  flags.Interval
	now    bool
	filter string
	cpu    string
}

func newIRQ(a *app.App) *cobra.Command {
	list := newIRQList(a)
	cmd := &cobra.Command{
		Use:     "irq",
		Short:   "show interrupts, their rates, affinity, devices and queues, and move them",
		Long:    irqLong,
		Example: list.Example,
		GroupID: app.GroupLook,
	}
	cmd.AddCommand(list, newIRQDefault(a), newIRQQueues(a))
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
	if err := linesOn(a, o.cpu, &t); err != nil {
		return err
	}
	if o.output.JSON() {
		irqJSON(a, &t, o.filter)
		return nil
	}
	irqTable(&t, o.filter).WriteAs(a, o.output)
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

func irqTable(t *irq.Table, filter string) *output.Table {
	out := output.NewTable(">IRQ", ">RATE/s", ">TOP CPU", ">TOP/s", "AFFINITY", "EFFECTIVE", "CONTROL",
		"DEVICE", "DRIVER", "QUEUE", "HANDLERS", "THREADS")
	for i := range t.Rows {
		r := &t.Rows[i]
		if !r.Match(filter) {
			continue
		}
		total, top, topPerS := rateCells(r.Rate)
		out.Add(r.Number, total, top, topPerS, maskText(r.Requested), maskText(r.Effective), r.Control,
			output.Dash(r.Device.Name()), output.Dash(r.Device.Driver), output.Dash(r.Queue.String()),
			output.Dash(r.Handlers()), output.Dash(irq.Tasks(r.Threads)))
	}
	for _, group := range []struct {
		rows []irq.NamedRow
		kind string
	}{{t.Named, "-"}, {t.SoftIRQs, "softirq"}} {
		for i := range group.rows {
			r := &group.rows[i]
			if !r.Happened() || !r.Match(filter) {
				continue
			}
			perS, top, topPerS := rateCells(r.Rate)
			out.Add(r.Name, perS, top, topPerS, "-", "-", group.kind, "-", "-", "-", output.Dash(r.What()), "-")
		}
	}
	return out
}

// rateCells is a rate in three cells; dashes where it is not known or there was none.
func rateCells(r irq.Rate) (perS, top, topPerS string) {
	if !r.OK {
		return "-", "-", "-"
	}
	perS = fmt.Sprintf("%.1f", r.PerS)
	if r.Top < 0 {
		return perS, "-", "-"
	}
	return perS, strconv.Itoa(int(r.Top)), fmt.Sprintf("%.1f", r.TopPerS)
}

func maskText(m irq.Mask) string {
	if !m.OK {
		return "-"
	}
	return output.Dash(m.String())
}

// linesOn leaves only the lines that are asked to go to one of the CPUs; those
// without a number belong to no list of CPUs.
func linesOn(a *app.App, cpus string, t *irq.Table) error {
	if cpus == "" {
		return nil
	}
	set, err := a.CPUs("--cpu", cpus)
	if err != nil {
		return err
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r irq.Row) bool { return r.Requested.And(set).Empty() })
	t.Named, t.SoftIRQs = nil, nil
	return nil
}

// irqJSON prints an object a line.
func irqJSON(w io.Writer, t *irq.Table, filter string) {
	var l output.Line
	shown := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if !r.Match(filter) {
			continue
		}
		shown++
		l.Start("irq").Add("irq", r.Number).Add("name", r.Handlers())
		addRate(&l, r.Counts, r.Rate, t)
		addFacts(&l, r)
		l.Write(w)
	}
	for i := range t.Named {
		r := &t.Named[i]
		if !r.Match(filter) {
			continue
		}
		l.Start("irq").Add("irq", nil).Add("name", r.Name)
		addRate(&l, r.Counts, r.Rate, t)
		l.Add("text", r.Text).Write(w)
	}
	for i := range t.SoftIRQs {
		r := &t.SoftIRQs[i]
		if !r.Match(filter) {
			continue
		}
		l.Start("softirq").Add("name", r.Name)
		addRate(&l, r.Counts, r.Rate, t)
		l.Write(w)
	}
	l.Start("end").Add("irqs", shown).Add("interval_s", t.Elapsed.Seconds()).Add("default_affinity", maskOrNull(t.Default)).Write(w)
}

// addRate adds what a line counted.
func addRate(l *output.Line, counts []uint64, r irq.Rate, t *irq.Table) {
	l.Add("count", irq.Total(counts))
	if !r.OK {
		l.Add("per_s", nil).Add("top_cpu", nil).Add("top_per_s", nil).Add("by_cpu", nil)
		return
	}
	var some []int // of the CPUs that had any
	for i, perS := range r.ByCPU {
		if perS != 0 {
			some = append(some, i)
		}
	}
	l.Add("per_s", r.PerS).Number("top_cpu", int(r.Top)).Known("top_per_s", r.TopPerS, r.Top >= 0).
		AddObject("by_cpu", len(some), func(i int) (string, any) {
			return fmt.Sprint(t.CPUs[some[i]]), math.Round(r.ByCPU[some[i]]*1e3) / 1e3
		})
}

// addFacts adds what is known of a numbered line.
func addFacts(l *output.Line, r *irq.Row) {
	l.Add("affinity", maskOrNull(r.Requested)).Add("effective", maskOrNull(r.Effective)).Add("hint", maskOrNull(r.Hint)).
		Add("control", r.Control.String()).Known("movable", r.Control == irq.Settable, r.Control != irq.ControlUnknown).
		Known("managed", r.Control == irq.Managed, r.Control != irq.ControlUnknown).Number("node", r.Node).
		Text("device", r.Device.Name()).Text("address", r.Device.Address).Text("driver", r.Device.Driver).
		Text("queue", r.Queue.Flow.String()).Known("queue_index", r.Queue.Index, r.Queue.Flow != irq.NoQueue).Text("chip", r.Chip).
		Text("trigger", r.Type).Add("actions", output.List(r.Actions)).Known("unhandled", r.Spurious.Unhandled, r.Spurious.OK)
	tids := make([]any, len(r.Threads))
	for i, t := range r.Threads {
		tids[i] = int(t.TID)
	}
	l.Add("threads", tids)
}

func maskOrNull(m irq.Mask) any {
	if !m.OK {
		return nil
	}
	return m.String()
}
