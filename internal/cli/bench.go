package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"piton/internal/action"
	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
)

type benchOptions struct {
	places  []string
	runs    count
	warmup  count
	timeout interval
	until   part
	budget  length
	noise   count
	counted bool
	output  output
}

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench WORKLOAD",
		Short: "compare placements by running a workload under each",
		Long: `Run a workload as a child process under several placements, interleaved, and compare them statistically.
Results are stored in $XDG_STATE_HOME/piton/results.jsonl.

A placement is one of these; the first one given is the base of the comparison:
  ` + strings.Replace(bench.PlacementHelp, "aggregate, ", "aggregate,\n  ", 1) + `
With -o json: one {"type":"study"}, one {"type":"run"} per run when it ends, one {"type":"comparison"} per pair.
With -o markdown, svg or html: a whole document.`,
		Example: "  piton bench nqueens -n 13 --place normal --place least-loaded --place fifo:10 --runs 10\n" +
			"  piton bench matrix -n 500 --threads 100 --place normal --place spread -o json",
		GroupID: groupProve,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				_, err := bench.Lookup(args[0])
				return asUsage(err)
			}
			return usagef("piton bench needs a workload: %s", strings.Join(workloadNames(), ", "))
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args has refused already
	}
	for _, w := range bench.Workloads {
		cmd.AddCommand(newBenchWorkload(a, w))
	}
	cmd.AddCommand(newBenchRun(a), newBenchAttach(a), newBenchReport(a), newBenchPaper(a))
	return cmd
}

func workloadNames() []string {
	var names []string
	for _, w := range bench.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// param is a workload's setting as a flag.
type param struct {
	bench.Param
	value string
}

func (p *param) String() string { return p.value }
func (p *param) Type() string {
	if p.Choices != nil {
		return strings.Join(p.Choices, "|")
	}
	return "number"
}
func (p *param) Set(s string) error {
	p.value = s
	return p.Validate(s)
}

func newBenchOptions() *benchOptions {
	return &benchOptions{
		runs:    count{n: 10, min: 1, max: bench.MaxRuns},
		warmup:  count{n: 1, min: 0, max: bench.MaxRuns},
		timeout: interval{d: 10 * time.Minute, min: time.Millisecond, max: 24 * time.Hour},
		budget:  length{interval: interval{min: time.Second, max: 30 * 24 * time.Hour}},
		noise:   count{n: 0, min: 0, max: bench.MaxNoise},
	}
}

func (o *benchOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&o.places, "place", nil, "`PLACEMENT` to compare; repeat for each (default normal, least-loaded)")
	fs.Var(&o.runs, "runs", "measured runs per placement")
	fs.Var(&o.warmup, "warmup", "runs per placement before them that do not count")
	fs.Var(&o.until, "until", "continue after --runs until every 95 % interval is within this share of its median, such as 1%")
	fs.Var(&o.budget, "budget", "start no further round after this time (default 5m with --until)")
	fs.Var(&o.noise, "noise", "background load: busy processes, on any CPU")
	fs.BoolVar(&o.counted, "counters", false, "count instructions, cycles, branches, cache misses, migrations and switches of each run")
	fs.Var(&o.timeout, "timeout", "stop a run after this time")
	o.output.addFlag(fs, benchFormats...)
}

func newBenchWorkload(a *app, w bench.Workload) *cobra.Command {
	o := newBenchOptions()
	var params []*param
	cmd := &cobra.Command{
		Use: w.Name, Short: w.Help, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			values := bench.Values{}
			for _, p := range params {
				values[p.Name] = p.value
			}
			return runBench(cmd.Context(), a, bench.Study{Workload: w.Name, Args: w.Args(values)}, o)
		},
	}
	fs := cmd.Flags()
	for _, p := range w.Params {
		v := &param{Param: p, value: p.Default}
		params = append(params, v)
		short := ""
		if len(p.Name) == 1 {
			short = p.Name
		}
		fs.VarP(v, p.Name, short, p.Help)
	}
	o.addFlags(fs)
	return cmd
}

// newBenchRun compares placements of the user's own program.
func newBenchRun(a *app) *cobra.Command {
	o := newBenchOptions()
	var f bench.Figure
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "compare placements with your own command",
		Long: `Run a command under several placements, interleaved. Its run time is compared or, with --metric, the last figure that it
prints. A run that exits with a status other than 0 has failed. Standard input is empty.`,
		Example: "  piton bench run --place normal --place llc -- make -j4 -B\n" +
			"  piton bench run --place normal --place fifo:10 --metric 'time: +([0-9.]+)' -- ./solve input",
		Args: needArgs(1, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := exec.LookPath(args[0]); err != nil {
				return fmt.Errorf("command not found: %s", args[0])
			}
			return runBench(cmd.Context(), a, bench.Study{Workload: bench.CommandWorkload, Args: args, Figure: f}, o)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.StringVar(&f.Pattern, "metric", "", "compare the figure that the group of `REGEXP` matches in the output, not the time")
	fs.StringVar(&f.Unit, "unit", "", "`UNIT` of the figure")
	fs.BoolVar(&f.HigherIsBetter, "higher-is-better", false, "higher figures are better")
	o.addFlags(fs)
	return cmd
}

// untilBudget bounds --until, which may never be reached.
const untilBudget = 5 * time.Minute

// study completes a study with the options of every benchmark.
func (o *benchOptions) study(s bench.Study) (bench.Study, error) {
	s.Runs, s.Warmup, s.Timeout = o.runs.n, o.warmup.n, o.timeout.d
	s.Until, s.Budget, s.Noise, s.Counters = o.until.v, o.budget.d, o.noise.n, o.counted
	if s.Until > 0 && s.Budget == 0 {
		s.Budget = untilBudget
	}
	places := o.places
	if len(places) == 0 {
		places = []string{string(bench.Normal), "least-loaded"}
	}
	for _, word := range places {
		spec, err := bench.ParsePlacement(word)
		if err != nil {
			return s, usagef("--place %s: %w", word, err)
		}
		s.Placements = append(s.Placements, spec.Name())
	}
	if err := s.Validate(); err != nil {
		return s, asUsage(err)
	}
	return s, nil
}

func runBench(ctx context.Context, a *app, study bench.Study, o *benchOptions) error {
	study, err := o.study(study)
	if err != nil {
		return err
	}
	if !a.live() {
		return withCode(ExitNotPermitted, errors.New("benchmarks run on this machine only, not with --host-root"))
	}
	ctx, stop := a.interruptible(ctx)
	defer stop()
	runner, err := a.benchRunner(study.Workload == bench.AttachWorkload)
	if err != nil {
		return err
	}
	out := benchOutput{a: a, format: o.output.value, store: runner.Store, study: study}
	if err := out.begin(); err != nil {
		return err
	}
	out.forecast(runner.Conditions().Host)
	results, err := runner.Run(ctx, study, out.event)
	if errors.Is(err, context.Canceled) {
		return errors.Join(out.end(results), err)
	}
	if err = errors.Join(err, out.err); err != nil {
		return err
	}
	if err := out.end(results); err != nil {
		return err
	}
	return benchOutcome(results)
}

// benchRunner runs studies on this machine. Placements can be undone when it is
// undoable; else the placed process ends with its run.
func (a *app) benchRunner(undoable bool) (*bench.Runner, error) {
	topo, err := a.topology()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find piton itself: %w", err)
	}
	var store *bench.Store
	if path, err := bench.DefaultStorePath(a.getenv, kernel.EUID()); err != nil {
		a.warn("results not stored: %v", err)
	} else {
		store = bench.NewStore(path)
	}
	tuner := change.Local()
	if undoable {
		if tuner, err = a.tuner(); err != nil {
			return nil, err
		}
	}
	// A file that grows beyond ulimit -f is an error like a full disk, not the end
	// of this process, which this signal is otherwise. Children do not inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
	measure := func(ctx context.Context) (*model.Model, error) { return a.measure(ctx) }
	return &bench.Runner{
		Command: []string{self, workloadVerb}, Env: a.Env,
		Place:     action.Placer(tuner, topo, measure),
		Scheduler: kernel.System(), Proc: procfs.New("/"), Store: store,
		Conditions: func() bench.Conditions { return bench.ReadConditions("/", version()) },
	}, nil
}

// benchOutcome is the error of a study some of whose runs failed.
func benchOutcome(r bench.Results) error {
	failed, first := 0, ""
	for _, run := range r.Runs {
		if run.Err == "" {
			continue
		}
		if failed++; first == "" {
			first = fmt.Sprintf("%s: %s", run.Placement, run.Err)
		}
	}
	switch {
	case failed == 0:
		return nil
	case failed == len(r.Runs):
		return withCode(ExitFailed, fmt.Errorf("all runs failed; the first: %s", first))
	}
	return withCode(ExitSome, fmt.Errorf("%d of %d runs failed; the first: %s", failed, len(r.Runs), first))
}
