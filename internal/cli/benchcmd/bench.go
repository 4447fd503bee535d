package benchcmd

import (
	"cmp"
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
	"piton/internal/bench/runner"
	"piton/internal/bench/store"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/workloads"
	"piton/workloads/workload"
)

type benchOptions struct {
	places  []string
	runs    flags.Count
	warmup  flags.Count
	timeout flags.Interval
	until   flags.Percent
	budget  flags.Interval
	noise   flags.Count
	counted bool
	output  output.Format
	fit     bool // the work's length is chosen so that a run takes 0.3 to 1 s
}

func newBench(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench WORKLOAD",
		Short: "compare placements by running a workload under each",
		Long: `Run a workload as a child process under several placements, interleaved, and compare them statistically.
Results are stored in $XDG_STATE_HOME/piton/results.jsonl. On a terminal, piton bench alone asks for the workload.

Each workload has placements of its own that are compared by default. Faster by 2 % takes 2 % less time: the effect is the
median over all pairs of a run of the placement and one of the base (Hodges-Lehmann), with its 95 % interval, not the
difference of the medians beside it. Where runs take less than 50 ms, or are too few, there is no verdict.

A placement is one of these; the first one given is the base of the comparison:
  ` + strings.Replace(bench.PlacementHelp, "aggregate, ", "aggregate,\n  ", 1) + `
With -o json: one {"type":"study"}, one {"type":"run"} per run when it ends, one {"type":"comparison"} per pair.
With -o markdown, svg or html: a whole document.`,
		Example: "  piton bench nqueens\n" +
			"  piton bench nqueens -n 15 --place normal --place fifo:10 --runs 20\n" +
			"  piton bench matrix -n 500 --threads 100 --place normal --place spread -o json",
		GroupID: app.GroupProve,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				_, err := workload.Find(workloads.All, args[0])
				return exit.With(exit.Usage, err)
			}
			if !onTerminal(a) {
				return errNoWorkload()
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return menu(a, cmd) },
	}
	for _, w := range workloads.All {
		cmd.AddCommand(newBenchWorkload(a, w))
	}
	cmd.AddCommand(newBenchRun(a), newBenchAttach(a), newBenchReport(a))
	if Reproduce != nil {
		cmd.AddCommand(newBenchPaper(a))
	}
	return cmd
}

func workloadNames() []string {
	return group.Each(workloads.All, func(w workload.Workload) string { return w.Name })
}

// param is a workload's setting as a flag.
type param struct {
	workload.Param
	value string
}

// Words are the values that the setting takes, for completion; none for a number.
func (p *param) Words() []string { return p.Choices }

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

// mayRealTime reports whether this user may use FIFO and RR.
func mayRealTime() bool {
	caps, _ := kernel.UsableCapabilities() // none when unknown
	return caps.Has(kernel.CapSysNice)
}

func newBenchOptions() *benchOptions {
	return &benchOptions{
		runs:    flags.Count{N: bench.DefaultRuns, Min: 1, Max: bench.MaxRuns},
		warmup:  flags.Count{N: bench.DefaultWarmup, Min: 0, Max: bench.MaxRuns},
		timeout: flags.Interval{Duration: bench.DefaultTimeout, Min: time.Millisecond, Max: 24 * time.Hour},
		budget:  flags.Interval{Min: time.Second, Max: 30 * 24 * time.Hour},
		noise:   flags.Count{N: 0, Min: 0, Max: bench.MaxNoise},
	}
}

// usualPlaces are the placements of what has none of its own.
const usualPlaces = "normal, least-loaded"

// addFlags adds the flags of every study; usual are its placements by default.
func (o *benchOptions) addFlags(fs *pflag.FlagSet, usual string) {
	fs.StringArrayVar(&o.places, "place", nil, "`PLACEMENT` to compare; repeat for each (default "+usual+")")
	fs.Var(&o.runs, "runs", "measured runs per placement")
	fs.Var(&o.warmup, "warmup", "runs per placement before them that do not count")
	fs.Var(&o.until, "until", "continue after --runs until every 95 % interval is within this share of its median, such as 1%")
	fs.Var(&o.budget, "budget", "start no further round after this time (default 5m with --until)")
	fs.Var(&o.noise, "noise", "background load: busy processes, on any CPU")
	fs.BoolVar(&o.counted, "counters", false, "count instructions, cycles, branches, cache misses, migrations and switches of each run")
	fs.Var(&o.timeout, "timeout", "stop a run after this time")
	o.output.AddFlag(fs, benchFormats...)
}

func newBenchWorkload(a *app.App, w workload.Workload) *cobra.Command {
	o := newBenchOptions()
	var params []*param
	cmd := &cobra.Command{
		Use: w.Name, Short: w.Help, Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			values := workload.Values{}
			for _, p := range params {
				values[p.Name] = p.value
			}
			o.fit = !cmd.Flags().Changed(w.Length)
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
		if f := fs.Lookup(p.Name); p.Name == w.Length && p.Default != "0" {
			f.Usage += "; if not given, so many that a run takes 0.3 to 1 s"
			f.DefValue = "" // the one that trial runs have
		}
	}
	o.addFlags(fs, strings.Join(w.Placements, ", "))
	return cmd
}

// newBenchRun compares placements of the user's own program.
func newBenchRun(a *app.App) *cobra.Command {
	o := newBenchOptions()
	var f bench.Figure
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG…]",
		Short: "compare placements with your own command",
		Long: `Run a command under several placements, interleaved. Its run time is compared or, with --metric, the last figure that it
prints. A run that exits with a status other than 0 has failed. Standard input is empty.
--metric wait-p50, wait-p99 (eBPF) or wait-share compares how long its threads, and those of what it starts, wait for a CPU.`,
		Example: "  piton bench run --place normal --place llc -- make -j4 -B\n" +
			"  piton bench run --place normal --place fifo:10 --metric 'time: +([0-9.]+)' -- ./solve input",
		Args: flags.NeedArgs(1, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := exec.LookPath(args[0]); err != nil {
				return fmt.Errorf("command not found: %s", args[0])
			}
			if _, is := runner.SpanRate(f.Pattern); is {
				if f.Unit != "" || f.HigherIsBetter {
					return exit.Usagef("--unit and --higher-is-better are for a figure of the output, not for %s", f.Pattern)
				}
				f, _ = runner.RateFigure(f.Pattern)
			}
			return runBench(cmd.Context(), a, bench.Study{Workload: bench.CommandWorkload, Args: args, Figure: f}, o)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.StringVar(&f.Pattern, "metric", "", "compare the figure that the group of `REGEXP` matches in the output, or wait-p50, wait-p99, wait-share, not the time")
	fs.StringVar(&f.Unit, "unit", "", "`UNIT` of the figure")
	flags.Optional.Add(fs, "unit")
	fs.BoolVar(&f.HigherIsBetter, "higher-is-better", false, "higher figures are better")
	o.addFlags(fs, usualPlaces)
	return cmd
}

// untilBudget bounds --until, which may never be reached.
const untilBudget = 5 * time.Minute

// study completes a study with the options of every benchmark.
func (o *benchOptions) study(s bench.Study, readonly bool) (bench.Study, error) {
	s.Runs, s.Warmup, s.Timeout = o.runs.N, o.warmup.N, o.timeout.Duration
	s.Until, s.Budget, s.Noise, s.Counters = o.until.Share, o.budget.Duration, o.noise.N, o.counted
	if s.Until > 0 && s.Budget == 0 {
		s.Budget = untilBudget
	}
	if len(o.places) == 0 {
		w, _ := workloads.Find(s.Workload) // none of a command
		s.Placements = bench.DefaultPlacements(w, !readonly && mayRealTime())
	}
	for _, word := range o.places {
		spec, err := bench.ParsePlacement(word)
		if err != nil {
			return s, exit.Usagef("--place %s: %w", word, err)
		}
		if readonly && spec.Privileged() {
			return s, fmt.Errorf("--place %s: %w", word, app.ErrReadOnly)
		}
		s.Placements = append(s.Placements, spec.Name())
	}
	if err := s.Validate(); err != nil {
		return s, exit.With(exit.Usage, err)
	}
	return s, nil
}

var errNotHere = exit.With(exit.NotPermitted, errors.New("benchmarks run on this machine only, not with --host-root"))

func runBench(ctx context.Context, a *app.App, study bench.Study, o *benchOptions) error {
	study, err := o.study(study, a.ReadOnly)
	if err != nil {
		return err
	}
	if !a.Live() {
		return errNotHere
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	runner, err := Runner(a, study.Workload == bench.AttachWorkload)
	if err != nil {
		return err
	}
	if o.fit {
		if study, err = fitted(ctx, runner, study); err != nil {
			return err
		}
	}
	out := benchOutput{a: a, format: o.output.Value, store: runner.Store, study: study}
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
	return cmp.Or(benchOutcome(results), keptOutcome(runner.Store, results.StoreErr))
}

// fitted is the study with a length that suits the machine, by stored results or by a trial.
func fitted(ctx context.Context, r *runner.Runner, study bench.Study) (bench.Study, error) {
	h, _ := r.Store.Read() // its error is reported with the results
	if fit, ok := study.Fitted(h.On(r.Conditions().Host)); ok {
		return fit, nil
	}
	trial, err := r.Trial(ctx, study)
	if err != nil {
		return study, err
	}
	fit, _ := study.Fitted([]bench.Results{trial})
	return fit, nil
}

// keptOutcome is the end of a benchmark whose results were printed, but could not be stored,
// which has been said.
func keptOutcome(to *store.Store, err error) error {
	if to == nil || err != nil {
		return exit.With(exit.Some, nil)
	}
	return nil
}

// Runner runs studies on this machine. Placements can be undone when it is
// undoable; else the placed process ends with its run.
func Runner(a *app.App, undoable bool) (*runner.Runner, error) {
	topo, err := a.Topology()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find piton itself: %w", err)
	}
	var kept *store.Store
	if path, err := store.DefaultPath(a.Getenv, kernel.EUID()); err != nil {
		a.Warn("results not stored: %v", err)
	} else {
		kept = store.New(path)
	}
	tuner := change.Local()
	if undoable {
		if tuner, err = a.Tuner(); err != nil {
			return nil, err
		}
	}
	place := action.Placer(tuner, topo, a.Measure)
	if a.ReadOnly {
		place = unprivileged(place)
	}
	// SIGXFSZ ends a process whose file grows beyond ulimit -f; where it is caught, the
	// write fails as on a full disk. Children do not inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGXFSZ)
	return &runner.Runner{
		Command: []string{self, WorkloadVerb}, Env: a.Env,
		Place:     place,
		Scheduler: kernel.System(), Proc: procfs.New("/"), Store: kept,
		Conditions: func() bench.Conditions { return bench.ReadConditions("/", app.Version()) },
	}, nil
}

// unprivileged is a PlaceFunc for read-only mode: it places processes of the benchmark alone,
// and refuses what takes a right of root.
func unprivileged(place bench.PlaceFunc) bench.PlaceFunc {
	return func(ctx context.Context, pid kernel.TID, spec bench.Spec) (bench.Placed, error) {
		if spec.Privileged() {
			return bench.Placed{}, app.ErrReadOnly
		}
		return place(ctx, pid, spec)
	}
}

// benchOutcome is the error of a study some of whose runs failed.
func benchOutcome(r bench.Results) error {
	switch failed, runs, first := failures([]bench.Results{r}); failed {
	case 0:
		return nil
	case runs:
		return exit.With(exit.Failed, fmt.Errorf("all runs failed; the first: %s", first))
	default:
		return exit.With(exit.Some, fmt.Errorf("%d of %d runs failed; the first: %s", failed, runs, first))
	}
}

// failures counts the runs, and those that failed; first says which was the first of them.
func failures(studies []bench.Results) (failed, runs int, first string) {
	for _, r := range studies {
		for _, run := range r.Runs {
			if runs++; run.Err == "" {
				continue
			}
			if failed++; failed > 1 {
				continue
			}
			first = fmt.Sprintf("%s: %s", run.Placement, run.Err)
			if r.Study.Cell != "" {
				first = r.Study.Cell + " under " + first
			}
		}
	}
	return failed, runs, first
}
