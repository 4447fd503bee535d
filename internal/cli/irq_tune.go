package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
)

const irqWords = `IRQ is a number or several (24, 24-31), or a name or glob (quoted) of a handler (virtio0-input.0, 'eth0-TxRx-*'),
of an interface or disk (eth0, nvme0n1), a driver, a PCI address or a handler's thread. One that matches nothing
is an error. Threads of handlers move with their interrupt. What cannot be moved, because its driver or the kernel
keeps it, is listed with the reason and stops nothing else. Every change is journalled; piton undo reverts it.

EFFECTIVE in piton irq list follows with the next interrupt of the line.`

type irqTuneOptions struct {
	apply applyOptions
	cpu   string
	nics  []string
}

func newIRQMove(a *app) *cobra.Command {
	var o irqTuneOptions
	cmd := &cobra.Command{
		Use:     "move IRQ… --cpu CPUS",
		Short:   "send interrupts to given CPUs",
		Long:    "Ask for interrupts to go to given CPUs: each line may go to any of them.\n\n" + irqWords,
		Example: "  piton irq move 24 --cpu 3\n  piton irq move eth0 --cpu node:0 --dry-run\n  piton irq move 'virtio0-input.*' --cpu 0-3,^2",
		Args:    needArgs(1, "an interrupt"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.cpu == "" {
				return usagef("where to? say --cpu CPUS")
			}
			return a.tuneIRQs(cmd, args, o, func(lines []*irq.Row, cpus cpuset.Set, _ irqMachine) []change.Request {
				return action.MoveIRQs(lines, cpus)
			})
		},
	}
	cmd.Flags().StringVar(&o.cpu, "cpu", "", "`CPUS` to go to: 3, 0-3, 0-14:2, node:1, llc:0, package:0, core:3, isolated, online, ^ takes out")
	o.apply.addFlags(cmd.Flags())
	return cmd
}

func newIRQSpread(a *app) *cobra.Command {
	var o irqTuneOptions
	cmd := &cobra.Command{
		Use:   "spread [IRQ…] [--nic INTERFACE] [--cpu CPUS]",
		Short: "spread interrupts over CPUs, one each",
		Long: `Give each interrupt one CPU, in turn: the queues of a device go to different cores as long as there are, on the
device's node first; both ways of a numbered queue share a CPU. Without IRQ and --nic, all that can be moved are
spread; without --cpu, to all online CPUs that are not isolated.

` + irqWords,
		Example: "  piton irq spread\n  piton irq spread --nic eth0\n  piton irq spread 'mlx5_*' --cpu node:1",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tuneIRQs(cmd, args, o, func(lines []*irq.Row, cpus cpuset.Set, m irqMachine) []change.Request {
				if cpus.Empty() {
					cpus = m.ordinary()
				}
				usable := cpus.And(m.topo.Online)
				if usable.Empty() {
					usable = cpus // to be refused with the reason
				}
				return action.SpreadIRQs(lines, m.topo, usable)
			})
		},
	}
	cmd.Flags().StringVar(&o.cpu, "cpu", "", "`CPUS` to spread them over")
	cmd.Flags().StringSliceVar(&o.nics, "nic", nil, "the lines of network `INTERFACE`s")
	o.apply.addFlags(cmd.Flags())
	return cmd
}

func newIRQReset(a *app) *cobra.Command {
	var o irqTuneOptions
	cmd := &cobra.Command{
		Use:   "reset [IRQ…] [--nic INTERFACE]",
		Short: "send interrupts where new ones go",
		Long: `Ask for interrupts to go to the CPUs that new lines get: the online ones of default_smp_affinity, or all online
CPUs if those are none. Without IRQ and --nic, all that can be moved. This is not the way back from a change of
piton: piton undo gives every line what it had before.

` + irqWords,
		Example: "  piton irq reset\n  piton irq reset eth0 24",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.tuneIRQs(cmd, args, o, func(lines []*irq.Row, _ cpuset.Set, m irqMachine) []change.Request {
				cpus := m.table.Default.And(m.topo.Online)
				if cpus.Empty() {
					cpus = m.topo.Online
				}
				return action.MoveIRQs(lines, cpus)
			})
		},
	}
	cmd.Flags().StringSliceVar(&o.nics, "nic", nil, "the lines of network `INTERFACE`s")
	o.apply.addFlags(cmd.Flags())
	return cmd
}

func newIRQDefault(a *app) *cobra.Command {
	var o irqTuneOptions
	cmd := &cobra.Command{
		Use:   "default CPUS",
		Short: "set the CPUs of interrupts that are set up from now on",
		Long: `Set default_smp_affinity: the CPUs that interrupt lines get when they are set up. Lines that are there already
stay where they are (piton irq reset moves them). piton irq list shows the present value in its last line.`,
		Example: "  piton irq default 0-3\n  piton irq default online,^isolated",
		Args:    needArgs(1, "CPUS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("piton irq default takes one list of CPUs, not %q as well", args[1])
			}
			cpus, err := a.cpus("CPUS", args[0])
			if err != nil {
				return err
			}
			return a.tuneFiles(cmd, []change.Request{action.DefaultIRQCPUs(cpus)}, o.apply)
		},
	}
	o.apply.addFlags(cmd.Flags())
	return cmd
}

// irqMachine is what the IRQ verbs look at.
type irqMachine struct {
	table irq.Table
	topo  *topology.Topology
}

// ordinary are the online CPUs that were not set apart at boot.
func (m irqMachine) ordinary() cpuset.Set {
	cpus := m.topo.Online.AndNot(m.topo.Isolated).AndNot(m.topo.NohzFull)
	if cpus.Empty() {
		return m.topo.Online
	}
	return cpus
}

// tuneIRQs finds the lines that the words mean, and carries out what is to be
// asked for them.
func (a *app) tuneIRQs(cmd *cobra.Command, words []string, o irqTuneOptions, requests func([]*irq.Row, cpuset.Set, irqMachine) []change.Request) error {
	if !a.live() {
		return change.ErrNotLive
	}
	cpus, err := a.cpus("--cpu", o.cpu)
	if err != nil {
		return err
	}
	var m irqMachine
	if m.table, err = irq.NewMonitor(a.hostRoot).Table(); err != nil {
		return fmt.Errorf("look at the interrupts: %w", err)
	}
	if m.topo, err = a.topology(); err != nil {
		return err
	}
	lines, err := a.irqLines(&m.table, words, o.nics)
	if err != nil {
		return err
	}
	return a.tuneFiles(cmd, requests(lines, cpus, m), o.apply)
}

// irqLines are the lines that are meant: without words, all that can be moved.
func (a *app) irqLines(t *irq.Table, words, nics []string) ([]*irq.Row, error) {
	if len(words)+len(nics) == 0 {
		return a.movable(t)
	}
	lines, missing := t.Choose(words)
	for _, nic := range nics {
		found := false
		for i := range t.Rows {
			if r := &t.Rows[i]; r.IsOf(nic) {
				found = true
				lines = append(lines, r)
			}
		}
		if !found {
			missing = append(missing, fmt.Errorf("no interrupt line is known to be of interface %q (see piton irq queues)", nic))
		}
	}
	return once(lines), errors.Join(missing...)
}

// once drops lines that are in the list already.
func once(lines []*irq.Row) []*irq.Row {
	seen := map[int]bool{}
	var out []*irq.Row
	for _, r := range lines {
		if !seen[r.Number] {
			seen[r.Number] = true
			out = append(out, r)
		}
	}
	return out
}

// movable are the lines that can be moved, and says of how many it is not so.
func (a *app) movable(t *irq.Table) ([]*irq.Row, error) {
	var lines []*irq.Row
	left := map[irq.Control]int{}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.CanMove() {
			lines = append(lines, r)
		} else {
			left[r.Control]++
		}
	}
	var words []string
	for _, c := range []irq.Control{irq.Managed, irq.Fixed} {
		if left[c] > 0 {
			words = append(words, fmt.Sprintf("%d %s (%s)", left[c], c, c.Why()))
		}
	}
	if len(words) > 0 {
		a.warn("left where they are: %s", strings.Join(words, "; "))
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no interrupt line can be moved: %w", attr.ErrNotSupported)
	}
	return lines, nil
}

// tuneFiles plans requests and carries them out.
func (a *app) tuneFiles(cmd *cobra.Command, requests []change.Request, o applyOptions) error {
	ctx, stop := a.interruptible(cmd.Context())
	defer stop()
	t, err := a.tuner()
	if err != nil {
		return err
	}
	plan, err := t.Plan(ctx, requests)
	if err != nil {
		return err
	}
	return a.carryOut(ctx, t, plan, o)
}
