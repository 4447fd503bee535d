// Package autocmd has piton auto, which finds the placement of a process by trying.
package autocmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/kernel"
)

// Commands are the commands of this package.
func Commands() app.Commands { return app.Commands{"auto": newAuto} }

type options struct {
	output output.Format
	metric string
	budget flags.Interval
	watch  flags.Interval
	limits []string
	places []string
	mem    bool
	system bool
	dryRun bool

	guardrails []*auto.Guardrail // of limits
	specs      []bench.Spec      // of places
	written    *auto.Output      // what the metric counts in, nil if that is something else
}

func newAuto(a *app.App) *cobra.Command {
	o := options{
		budget: flags.Interval{Min: time.Second, Max: time.Hour},
		watch:  flags.Interval{Min: 5 * time.Second, Max: 24 * time.Hour},
	}
	cmd := &cobra.Command{
		Use:   "auto TARGET… | auto -- COMMAND [ARG…]",
		Short: "try placements on a running process, and keep the best if it is better",
		Long: `Try placements of a process in turn, 200 ms each, and keep the best of them only if it is better than what the kernel
does by itself: it is judged by fresh pairs of periods, in which a candidate and the kernel take turns. Else everything is
left as it was. That nothing helps is an answer, and ends with exit code 0.
The placements come from the machine's topology, its load and the task with which the process exchanges most wakeups, eight
at most beside what is asked for; --dry-run lists them with their reasons. All threads of the process are placed; "with 4711"
places the process of thread 4711 on the same CPU as well. Several processes are placed together, and judged by the sum of
their rates. Priorities are not changed unless --place asks for it; with --system settings of the kernel are tried that concern
all tasks: NUMA balancing, cache-aware scheduling, the base slice. What is tried is one entry of the journal under a guard: if
piton is killed, the process has its own placement again within a second. What is kept is another entry, for piton undo.
Before a candidate is tried, the kernel's choice is measured until the search costs the process 8 % of its rate at most, however
bad the candidate is. It may cost more with a --budget of little more than the least.
With --watch 1m piton goes on: each minute what was kept and what was before take turns for 1.6 s. If it seems to have become
worse it is confirmed anew, or undone and another is searched for. If nothing was kept, a new search is made when the load or
the topology gives other candidates, 5 minutes after the last at the earliest, and later each time that it finds nothing.
With -- COMMAND is started, and placed while it runs; piton ends when it does.

With --not-worse p99<5ms a candidate is out under which more than a hundredth of the waits of the threads for a CPU are longer
(eBPF); with other=PID one under which that process has less than 90 % of its rate, both by the median of three periods; with
file:PATH<NUMBER one after whose period the number in the file is not below it. With wait-p99<5ms, wait-p50<TIME or
wait-share<10% a candidate is out under which that figure of its waits for a CPU is longer, by the median of three periods.

--metric is a rate of which more is better, or wait-p50, wait-p99, wait-share, of which less is, measured in each period:
` + runner.RateHelp() + `  output:REGEXP lines of a command's output in which it is found, or the growing number in its group
For the last one a pipe is the command's output: one that holds lines back then needs stdbuf -oL before it.
Without it: instructions, where there is a counter for them, else bytes, else switches, else cpu, the first that moves.`,
		Example: "  piton auto 3641 --metric file:/run/app/requests\n  piton auto nginx --dry-run\n  piton auto -o json -- ./simulation -v",
		GroupID: app.GroupTune,
		Args:    flags.NeedArgs(1, "a process or a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), a, &o, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	fs := cmd.Flags()
	o.output.AddFlag(fs, output.AsTable, output.AsJSON)
	fs.StringVar(&o.metric, "metric", "", "`RATE` to judge by")
	fs.Var(&o.budget, "budget", "end the search after this time at most; 26s for eight candidates where not given; for a command enough for as many")
	fs.StringArrayVar(&o.limits, "not-worse", nil, "a candidate is out that hurts this: `p99<TIME`, wait-p99<TIME, wait-share<PERCENT%, other=PID, file:PATH<NUMBER or file:PATH>NUMBER")
	fs.Var(&o.watch, "watch", "go on after the search, and look so often whether what was kept is still better")
	fs.StringArrayVar(&o.places, "place", nil, "try this as well, a `PLACEMENT` as of bench run: nice:-5, llc+batch, cpu:1+fifo:10")
	fs.BoolVar(&o.system, "system", false, "try settings of the kernel as well")
	fs.BoolVar(&o.mem, "mem", false, "when a placement is kept, move the memory of the process to its nodes")
	fs.BoolVar(&o.dryRun, "dry-run", false, "print what would be tried, and try nothing")
	return cmd
}

func run(ctx context.Context, a *app.App, o *options, args []string, isCommand bool) error {
	if !a.Live() {
		return change.ErrNotLive
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	if err := o.readMetric(isCommand); err != nil {
		return exit.With(exit.Usage, err)
	}
	for _, text := range o.limits {
		g, err := auto.ParseGuardrail(text)
		if err != nil {
			return exit.Usagef("--not-worse: %w", err)
		}
		o.guardrails = append(o.guardrails, g)
	}
	for _, text := range o.places {
		spec, err := bench.ParsePlacement(text)
		if err != nil {
			return exit.Usagef("--place: %w", err)
		}
		o.specs = append(o.specs, spec)
	}
	if !isCommand {
		c, err := a.Choose(args, change.ScopeProcess)
		if err != nil {
			return err
		}
		return seek(ctx, a, o, c.Targets)
	}
	if err := enough(a, o); err != nil {
		return err
	}
	cmd, err := start(a, args, o.written)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err = runner.Pause(ctx, warmTime); err == nil {
		err = seek(ctx, a, o, []change.Target{{TID: kernel.TID(cmd.Process.Pid)}})
	}
	if ctx.Err() != nil {
		_ = cmd.Process.Signal(os.Interrupt)
	}
	return errors.Join(err, <-ended)
}

// enough refuses a budget that may be too short for a command, which is not to be started for
// nothing: what is tried depends on what it does.
func enough(a *app.App, o *options) error {
	most := auto.MostCandidates + len(o.specs)
	if o.system {
		topo, err := a.Topology()
		if err != nil {
			return err
		}
		most += len(auto.System(kernel.SystemFiles(), topo))
	}
	job := auto.Job{Candidates: make([]auto.Candidate, most)}
	if least := job.LeastBudget(); o.budget.Given && o.budget.Duration < least {
		return exit.Usagef("a budget of %v may be too short for a command, which was not started: at least %v are needed for %d candidates", o.budget.Duration, least, most)
	}
	return nil
}

// readMetric reads --metric.
func (o *options) readMetric(isCommand bool) (err error) {
	if o.written, err = auto.ParseOutput(o.metric); err != nil {
		return err
	}
	if o.written != nil && !isCommand {
		return fmt.Errorf("metric %s: piton has only the output of a command that it starts: piton auto -- COMMAND", o.metric)
	}
	if o.metric != "" && o.written == nil {
		_, err = auto.FindMetric(o.metric)
	}
	return err
}

// warmTime is how long a command runs before its load is looked at.
const warmTime = 500 * time.Millisecond

// outputWait is how long output stays open after the command's end, in the hands of a
// process that it left behind.
const outputWait = time.Second

// start starts a command with piton's own streams; standard output is for what piton prints.
func start(a *app.App, argv []string, counted *auto.Output) (*exec.Cmd, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env, cmd.WaitDelay = os.Stdin, os.Stderr, os.Stderr, a.Env, outputWait
	if counted != nil {
		both := io.MultiWriter(counted, os.Stderr)
		cmd.Stdout, cmd.Stderr = both, both
	}
	if err := kernel.Start(cmd); err != nil {
		return nil, fmt.Errorf("%s cannot be run: %w", argv[0], err)
	}
	return cmd, nil
}

// seek searches for some processes, and prints how that went.
func seek(ctx context.Context, a *app.App, o *options, targets []change.Target) error {
	t, err := a.Tuner()
	if err != nil {
		return err
	}
	deps := action.Deps{Tuner: t}
	ask := action.SearchAsk{Targets: targets, Places: o.specs, System: o.system,
		Metric: o.metric, Written: o.written, NotWorse: o.guardrails, Budget: o.budget.Duration, Memory: o.mem}
	prepare := func(ctx context.Context) (s action.Search, err error) {
		if deps.Model, err = a.Measure(ctx); err != nil {
			return s, err
		}
		s, err = action.PrepareSearch(ctx, deps, ask)
		if s.Warning != "" {
			a.Warn("%s", s.Warning)
		}
		return s, err
	}
	search, err := prepare(ctx)
	if err != nil {
		return err
	}
	job := &search.Job
	out := &printer{app: a, format: o.output, job: job}
	out.candidates(search.Left)
	if o.dryRun {
		return nil
	}
	defer search.Close()
	if err := search.Open(ctx, deps, ask); err != nil {
		return err
	}
	found, err := job.Run(ctx, out.event)
	out.end(&found, err)
	if err != nil || !o.watch.Given {
		return err
	}
	w := auto.Watch{Job: job, Every: o.watch.Duration, Tell: out.look, Progress: out.event,
		Searched: func(f auto.Found) { out.end(&f, nil) },
		Candidates: func(ctx context.Context) ([]auto.Candidate, error) {
			now, err := prepare(ctx)
			job.Caches = now.Job.Caches
			return now.Job.Candidates, err
		}}
	if err = w.Run(ctx, found); errors.Is(err, attr.ErrGone) {
		return nil // that is how a watch ends
	}
	return err
}
