package irqcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/changes"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
)

const irqWords = `IRQ is a number or several (24, 24-31), or a name or glob (quoted) of a handler (virtio0-input.0, 'eth0-TxRx-*'),
of an interface or disk (eth0, nvme0n1), a driver, a PCI address or a handler's thread.
An IRQ that matches nothing is an error. Threads of handlers move with their interrupt.
Interrupts that the driver or the kernel does not let move are listed with the reason, and the others are moved.
Every change is recorded; piton undo undoes it.

EFFECTIVE in piton irq list changes with the next interrupt of the line.`

// irqVerb is a command that sends interrupts elsewhere.
type irqVerb struct {
	use, short, long, example string
	cpus, nics                string // the help of --cpu and --nic, "" for no such flag
	needs                     bool   // IRQ and --cpu
	requests                  func(lines []*irq.Row, cpus cpuset.Set, m irqMachine) []change.Request
}

var irqVerbs = []irqVerb{
	{
		use: "move IRQ… --cpu CPUS", short: "send interrupts to given CPUs", needs: true,
		long:    "Ask for interrupts to go to given CPUs: each line may go to any of them.",
		example: "  piton irq move 24 --cpu 3\n  piton irq move eth0 --cpu node:0 --dry-run\n  piton irq move 'virtio0-input.*' --cpu 0-3,^2",
		cpus:    "`CPUS` to go to: 3, 0-3, 0-14:2, node:1, llc:0, package:0, core:3, isolated, online, ^ takes out",
		requests: func(lines []*irq.Row, cpus cpuset.Set, _ irqMachine) []change.Request {
			return action.MoveIRQs(lines, cpus)
		},
	}, {
		use: "spread [IRQ…] [--nic INTERFACE] [--cpu CPUS]", short: "spread interrupts over CPUs, one each",
		long: `Spread interrupts, one per CPU: the queues of a device over different cores as long as there are, on the device's
node first. Receive and transmit interrupts of a queue share a CPU.
Without IRQ and --nic, all interrupts that can be moved are spread; without --cpu, over all online CPUs that are not
isolated.`,
		example: "  piton irq spread\n  piton irq spread --nic eth0\n  piton irq spread 'mlx5_*' --cpu node:1",
		cpus:    "`CPUS` to spread them over", nics: irqNICs,
		requests: func(lines []*irq.Row, cpus cpuset.Set, m irqMachine) []change.Request {
			if cpus.Empty() {
				cpus = m.topo.Ordinary()
			}
			if usable := cpus.And(m.topo.Online); !usable.Empty() { // else the kernel refuses it, with the reason
				cpus = usable
			}
			return action.SpreadIRQs(lines, m.topo, cpus)
		},
	}, {
		use: "reset [IRQ…] [--nic INTERFACE]", short: "send interrupts where new ones go",
		long: `Set the affinity of interrupts to that of new lines: the online CPUs of default_smp_affinity, or all online CPUs if
those are none. Without IRQ and --nic, of all that can be moved.
To restore the affinity that lines had before a change of piton, use piton undo.`,
		example: "  piton irq reset\n  piton irq reset eth0 24", nics: irqNICs,
		requests: func(lines []*irq.Row, _ cpuset.Set, m irqMachine) []change.Request {
			return action.MoveIRQs(lines, m.topo.OnlineAmong(m.table.Default.Set))
		},
	},
}

const irqNICs = "the lines of network `INTERFACE`s"

func (v irqVerb) command(a *app.App) *cobra.Command {
	var o changes.Options
	var expr string
	var nics []string
	cmd := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long + "\n\n" + irqWords, Example: v.example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.needs && expr == "" {
				return exit.Usagef("missing CPUs: use --cpu CPUS")
			}
			return tuneIRQs(a, cmd, v, args, nics, expr, o)
		},
	}
	if v.needs {
		cmd.Args = flags.NeedArgs(1, "an interrupt")
	}
	if v.cpus != "" {
		cmd.Flags().StringVar(&expr, "cpu", "", v.cpus)
	}
	if v.nics != "" {
		cmd.Flags().StringSliceVar(&nics, "nic", nil, v.nics)
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func newIRQDefault(a *app.App) *cobra.Command {
	var o changes.Options
	cmd := &cobra.Command{
		Use:   "default CPUS",
		Short: "set the CPUs of interrupts that are set up from now on",
		Long: `Set default_smp_affinity: the CPUs that interrupt lines get when they are set up.
Existing lines are not changed (piton irq reset moves them). piton irq list prints the value in its last line.`,
		Example: "  piton irq default 0-3\n  piton irq default online,^isolated",
		Args:    flags.OneCPUs,
		RunE: func(cmd *cobra.Command, args []string) error {
			cpus, err := a.CPUs(args[0])
			if err != nil {
				return err
			}
			return tuneFiles(a, cmd, []change.Request{action.DefaultIRQCPUs(cpus)}, o)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// irqMachine is what the IRQ verbs look at.
type irqMachine struct {
	table irq.Table
	topo  *topology.Topology
}

// tuneIRQs finds the lines that the words and interfaces mean, and carries out what the
// verb asks for them.
func tuneIRQs(a *app.App, cmd *cobra.Command, v irqVerb, words, nics []string, expr string, o changes.Options) error {
	if !a.Live() {
		return change.ErrNotLive
	}
	cpus, err := a.FlagCPUs("--cpu", expr)
	if err != nil {
		return err
	}
	var m irqMachine
	if m.table, err = a.Interrupts(); err != nil {
		return err
	}
	if m.topo, err = a.Topology(); err != nil {
		return err
	}
	lines, err := irqLines(a, &m.table, words, nics)
	if err != nil {
		return err
	}
	return tuneFiles(a, cmd, v.requests(lines, cpus, m), o)
}

// irqLines are the lines that words and interfaces mean; without any, all that can be moved.
func irqLines(a *app.App, t *irq.Table, words, nics []string) ([]*irq.Row, error) {
	if len(words)+len(nics) == 0 {
		return movableLines(a, t)
	}
	lines, missing := t.Choose(words)
	for _, nic := range nics {
		found := false
		for i := range t.Rows {
			if r := &t.Rows[i]; r.IsOf(nic) {
				found = true
				if !slices.Contains(lines, r) {
					lines = append(lines, r)
				}
			}
		}
		if !found {
			missing = append(missing, fmt.Errorf("no interrupt line is known to be of interface %q (see piton irq queues)", nic))
		}
	}
	return lines, errors.Join(missing...)
}

// movableLines are the lines that can be moved. It warns of the number of the others.
func movableLines(a *app.App, t *irq.Table) ([]*irq.Row, error) {
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
		a.Warn("left where they are: %s", strings.Join(words, "; "))
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no interrupt line can be moved: %w", attr.ErrNotSupported)
	}
	return lines, nil
}

// tuneFiles plans requests and carries them out.
func tuneFiles(a *app.App, cmd *cobra.Command, requests []change.Request, o changes.Options) error {
	return changes.Run(cmd.Context(), a, o, func(ctx context.Context, t *change.Tuner) (change.Plan, error) { return t.Plan(ctx, requests) })
}
