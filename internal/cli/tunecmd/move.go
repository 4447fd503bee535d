package tunecmd

import (
	"context"
	"errors"
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
	"piton/internal/target"
)

type moveOptions struct {
	verbOptions
	targets, irqs []string
}

func (o *moveOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&o.targets, "targets", "t", nil, "`TARGETS` to move, with commas or by several -t: numbers, names, globs")
	cmd.Flags().StringArrayVarP(&o.irqs, "irqs", "q", nil, "`IRQS` to move: numbers, globs on handlers, interfaces, drivers (see piton irq move)")
	o.verbOptions.addFlags(cmd)
}

const moveTargets = `-t takes TARGETs as other commands do, joined with commas; a /regex/ must stand alone.
It means all threads of each process, with --thread the one thread.
-q takes numbers (24, 24-31) and globs, joined with commas.`

func newMove(a *app.App) *cobra.Command {
	m := &moving{}
	cmd := m.command(a, &cobra.Command{
		Use:   "move CPUS [-t TARGETS] [-q IRQS]",
		Short: "move tasks and interrupts to given CPUs",
		Long: `Replace the affinity of tasks and interrupts by the given CPUs. A CPU that is not there is an error.
Threads of an interrupt's handler move with it.
` + memHelp,
		Example: "  piton move 2-3 -t nginx,php-fpm\n  piton move node:1 -t 3641 -q 'eth0*'\n  piton move 0 -q 24,25",
	})
	cmd.Flags().BoolVar(&m.mem, "mem", false, memFlag)
	return cmd
}

func newSpread(a *app.App) *cobra.Command {
	return (&moving{spread: true}).command(a, &cobra.Command{
		Use:   "spread CPUS [-t TARGETS] [-q IRQS]",
		Short: "spread threads and interrupts over CPUs, one each",
		Long: `Spread the threads of the tasks, and the interrupts, one per CPU, from the first CPU again when all have one.
The threads of one process are spread too.
piton pin --place spread chooses by load; piton irq spread spreads the queues of a device over its cores.`,
		Example: "  piton spread 0-3 -t nginx\n  piton spread 0-14:2 -t 3641 -q 'nvme*'",
	})
}

// command adds to a command what move and spread have in common.
func (m *moving) command(a *app.App, cmd *cobra.Command) *cobra.Command {
	var o moveOptions
	cmd.Long += "\n\n" + moveTargets + "\n\n" + flags.CPUsHelp
	cmd.GroupID, cmd.Args = app.GroupTune, flags.OneCPUs
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), a, args[0], o) }
	o.addFlags(cmd)
	return cmd
}

func (m *moving) run(ctx context.Context, a *app.App, expr string, o moveOptions) error {
	if err := o.scope.Check(); err != nil {
		return err
	}
	if len(o.targets)+len(o.irqs) == 0 {
		return exit.Usagef("missing targets: use -t TARGETS, -q IRQS, or both")
	}
	if !a.Live() {
		return change.ErrNotLive
	}
	var err error
	if m.cpus, err = a.CPUs(expr); err != nil {
		return err
	}
	return changes.Run(ctx, a, o.apply, func(ctx context.Context, t *change.Tuner) (change.Plan, error) {
		m.tuner = t
		requests, err := m.requests(ctx, a, o)
		if err != nil {
			return change.Plan{}, err
		}
		plan, err := t.Plan(ctx, requests)
		app.ConfirmWide(&plan, m.wide)
		if m.spread {
			plan.Sweep = m
		}
		return plan, err
	})
}

// moving makes the requests of move and of spread.
type moving struct {
	tuner  *change.Tuner
	cpus   cpuset.Set
	spread bool // one CPU each
	mem    bool // the memory of the processes as well

	targets  []change.Target
	wide     *target.Breadth
	assigned map[change.Target]bool // threads that have their CPU
	turn     int
}

// requests finds the tasks and interrupts. A word that matches nothing is an error.
func (m *moving) requests(ctx context.Context, a *app.App, o moveOptions) ([]change.Request, error) {
	c, err := a.Choose(splitTargets(o.targets), o.scope.Value())
	missing := []error{err}
	m.targets, m.wide = c.Targets, c.Wide
	var lines []*irq.Row
	if words := splitWords(o.irqs); len(words) > 0 {
		table, err := a.Interrupts()
		if err != nil {
			return nil, err
		}
		var none []error
		lines, none = table.Choose(words)
		missing = append(missing, none...)
	}
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	out, err := m.tasks(ctx)
	return append(out, m.lines(lines)...), err
}

func (m *moving) tasks(ctx context.Context) ([]change.Request, error) {
	switch {
	case len(m.targets) == 0:
		return nil, nil
	case m.spread:
		m.assigned = map[change.Target]bool{}
		return m.More(ctx)
	}
	return []change.Request{{Targets: m.targets, Set: m.set(m.cpus)}}, nil
}

// Again is part of change.Sweep.
func (m *moving) Again(_ context.Context, p change.Plan) (change.Plan, error) { return p, nil }

// More gives the next CPU to each thread of the targets that has none yet. A plan for all
// of them lists the threads.
func (m *moving) More(ctx context.Context) ([]change.Request, error) {
	if len(m.targets) == 0 {
		return nil, nil
	}
	plan, err := m.tuner.Plan(ctx, []change.Request{{Targets: m.targets, Set: m.set(m.cpus)}})
	if err != nil {
		return nil, err
	}
	var out []change.Request
	for _, c := range plan.Changes {
		thread := change.Target{TID: c.TID, StartTicks: c.StartTicks, Scope: change.ScopeThread}
		if m.assigned[thread] {
			continue
		}
		m.assigned[thread] = true
		mask := m.cpus // of what cannot be moved, for the reason
		if c.Status != attr.Refused {
			mask = m.next()
		}
		out = append(out, change.Request{Targets: []change.Target{thread}, Set: m.set(mask)})
	}
	return out, nil
}

func (m *moving) set(cpus cpuset.Set) []attr.Setting {
	out := []attr.Setting{attr.SetAffinity(cpus)}
	if m.mem {
		out = append(out, attr.SetMemoryNear(cpus))
	}
	return out
}

func (m *moving) next() cpuset.Set {
	all := m.cpus.CPUs()
	cpu := all[m.turn%len(all)]
	m.turn++
	return cpuset.Of(cpu)
}

func (m *moving) lines(lines []*irq.Row) []change.Request {
	if !m.spread {
		return action.MoveIRQs(lines, m.cpus)
	}
	m.turn = 0 // tasks and interrupts are spread apart, as tuna does
	var out []change.Request
	for _, l := range lines {
		mask := m.cpus
		if l.CanMove() {
			mask = m.next()
		}
		out = append(out, action.MoveIRQs([]*irq.Row{l}, mask)...)
	}
	return out
}

// splitWords takes lists with commas apart.
func splitWords(lists []string) []string {
	var out []string
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			if word = strings.TrimSpace(word); word != "" {
				out = append(out, word)
			}
		}
	}
	return out
}

// splitTargets is splitWords for TARGETs: a regular expression may have commas of
// its own.
func splitTargets(lists []string) []string {
	var out []string
	for _, list := range lists {
		if strings.HasPrefix(list, "/") || strings.HasPrefix(list, "cmd:/") {
			out = append(out, list)
			continue
		}
		out = append(out, splitWords([]string{list})...)
	}
	return out
}
