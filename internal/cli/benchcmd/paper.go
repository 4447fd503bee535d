package benchcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/userfile"
)

type paperOptions struct {
	all    bool
	fresh  bool
	yes    bool
	budget flags.Interval
	report string
	output output.Format
}

// newBenchPaper reproduces the tables of published studies.
func newBenchPaper(a *app.App) *cobra.Command {
	o := &paperOptions{budget: flags.Interval{Duration: 5 * time.Minute, Min: 5 * time.Second, Max: 30 * 24 * time.Hour}}
	cmd := &cobra.Command{
		Use:   "paper STUDY…|--all",
		Short: "reproduce a published study",
		Long: `Run the grid of a published study at sizes that fit the budget, and print first what was found, then today's effects and
figures beside the published ones. The budget goes to the largest published sizes that get enough rounds for a verdict in
all their cells, which are interleaved, and to smaller ones if time is left; what was not run is said in a note. A budget
that gives no verdict is refused, with one that would do; on a terminal that one is offered. An interrupted reproduction is
resumed when the same command runs again without --new.

Studies: ` + strings.Join(paper.Names(), ", ") + `.
automatic is piton's own: how near piton auto comes to the best of all its candidates, for each workload without load and under
load, and what its search costs. It changes the affinity of its own processes only.
sais needs root: clients read strips from servers in network namespaces, which end with piton, while packets are delivered
in several ways. RFS's flow table, net.core.rps_sock_flow_entries, is the machine's; it is set for RFS only and restored.`,
		Example: "  piton bench paper nqueens --budget 5m\n" +
			"  piton bench paper --all --budget 10m --report out.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.all && len(args) > 0:
				return exit.Usagef("give either studies or --all")
			case o.all:
				args = paper.Names()
			case len(args) == 0:
				return exit.Usagef("piton bench paper needs a study or --all: %s", strings.Join(paper.Names(), ", "))
			}
			papers, err := paper.Lookup(args)
			if err != nil {
				return exit.With(exit.Usage, err)
			}
			return runPapers(cmd.Context(), a, papers, o)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.all, "all", false, "all studies")
	fs.BoolVar(&o.fresh, "new", false, "start over instead of resuming an interrupted reproduction")
	fs.Var(&o.budget, "budget", "time limit for all studies")
	fs.BoolVar(&o.yes, "yes", false, "run although the budget is too small for a verdict")
	fs.StringVar(&o.report, "report", "", "also write an HTML page with all figures to `FILE`")
	o.output.AddFlag(fs, benchFormats...)
	return cmd
}

// Reproduce runs published studies until they end or ctx does. The laboratory has it.
var Reproduce func(ctx context.Context, a *app.App, ask paper.Ask) (*paper.Done, error)

func runPapers(ctx context.Context, a *app.App, chosen []paper.Paper, o *paperOptions) error {
	if !a.Live() {
		return errNotHere
	}
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	out := paperOutput{a: a, papers: chosen, o: o}
	if err := out.writable(); err != nil {
		return err
	}
	r, err := out.machine()
	if err != nil {
		return err
	}
	out.forecast()
	ask := paper.Ask{Papers: chosen, Budget: o.budget.Duration, Anyway: o.yes, Fresh: o.fresh, On: out.progress, Say: a.Warn}
	run, err := Reproduce(ctx, a, ask)
	if little := (paper.TooLittle{}); errors.As(err, &little) {
		if !agrees(ctx, a, little) {
			return cmp.Or(ctx.Err(), exit.With(exit.Usage, fmt.Errorf("%w: give --budget %s, or --yes to run anyway", err, paper.Budget(little.Need))))
		}
		ask.Budget, ask.Anyway, ask.Fresh = little.Need, true, true
		run, err = Reproduce(ctx, a, ask)
	}
	if run == nil {
		return err
	}
	out.line.clear(a.Err)
	if run.KeepErr != nil {
		a.Warn("results not stored, so this cannot be resumed later: %v", run.KeepErr)
	}
	printed := out.print(run.Results)
	if printed == nil && run.KeepErr == nil && o.output.Value == output.AsTable {
		fmt.Fprintf(a, "\nstored as %s; piton bench report %[1]s -o html prints it as a page\n", run.Grid.ID)
	}
	switch {
	case errors.Is(err, context.Canceled) && run.KeepErr == nil:
		a.Warn("interrupted; the same command resumes it")
		return errors.Join(printed, err)
	case err != nil:
		return errors.Join(printed, err)
	}
	return cmp.Or(printed, papersOutcome(run.Results), keptOutcome(r.Store, run.KeepErr))
}

// agrees asks on a terminal whether studies may take the time that a verdict needs.
func agrees(ctx context.Context, a *app.App, little paper.TooLittle) bool {
	if !onTerminal(a) {
		return false
	}
	fmt.Fprintf(a, "%v.\nTake %s? [y/N] ", little, paper.Budget(little.Need))
	return strings.EqualFold(app.ReadLine(ctx, bufio.NewReader(a.In)), "y")
}

// papersOutcome is the error of cells that failed.
func papersOutcome(all []bench.Results) error {
	failed, runs, first := failures(all)
	if failed == 0 {
		return nil
	}
	return exit.With(exit.Some, fmt.Errorf("%d of %d runs failed, the first of %s", failed, runs, first))
}

// paperOutput prints papers.
type paperOutput struct {
	a      *app.App
	papers []paper.Paper
	o      *paperOptions
	layout paper.Machine // that tables are laid out for
	line   progressLine
}

// machine looks at this machine, and returns what runs studies on it.
func (p *paperOutput) machine() (*runner.Runner, error) {
	topo, err := p.a.Topology()
	if err != nil {
		return nil, err
	}
	r, err := Runner(p.a, false)
	if err != nil {
		return nil, err
	}
	_, haveTuna := TunaRunner(p.a, r)
	p.layout = paper.NewMachine(topo, haveTuna)
	return r, nil
}

// writable checks before the work that the page can be written after it.
func (p *paperOutput) writable() error {
	if p.o.report == "" {
		return nil
	}
	if err := userfile.Writable(p.o.report); err != nil {
		return fmt.Errorf("write the report %s: %w", p.o.report, err)
	}
	return nil
}

// forecast prints to a terminal how long the papers take.
func (p *paperOutput) forecast() {
	if app.IsTerminal(p.a.Err) {
		fmt.Fprintf(p.a.Err, "at most %s\n", chart.Clock(p.o.budget.Duration))
	}
}

func (p *paperOutput) progress(at paper.Progress) {
	p.line.show(p.a.Err, fmt.Sprintf("%s: round %d, cell %d of %d, %s, %s; at most %s left",
		at.Paper, at.Round, at.Cells+1, at.Of, at.Cell, at.Run.Placement, chart.Clock(at.Left)))
}

// textWidth is that of the terminal, 0 where there is none.
func (p *paperOutput) textWidth() int {
	width, _ := app.TerminalWidth(p.a.Out)
	return width
}

const paperTitle = "Reproduced studies"

// print prints what was measured, and writes the page.
func (p *paperOutput) print(all []bench.Results) error {
	sections := paper.Sections(p.papers, p.layout, all)
	if p.o.report != "" {
		if err := report.WriteFile(p.o.report, report.Page{Title: paperTitle, Sections: sections}); err != nil {
			return err
		}
	}
	out := benchOutput{a: p.a, format: p.o.output.Value}
	switch p.o.output.Value {
	case output.AsJSON, output.AsCSV:
		return out.records(all, sections)
	case asMarkdown, asSVG, asHTML:
		return writeSections(p.a, p.o.output.Value, paperTitle, sections)
	}
	text := textOf(p.a)
	for i, s := range sections {
		if i > 0 {
			fmt.Fprintln(text)
		}
		if err := report.Text(text, s, p.textWidth()); err != nil {
			return err
		}
		for _, line := range p.papers[i].Pictures(s, all, out.width()) {
			fmt.Fprintln(text, line)
		}
	}
	return nil
}

// Minute is a time of a study as people read it.
func Minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// ScreenPapers runs published studies for the results pane.
type ScreenPapers struct{ App *app.App }

// Run runs them until they end or ctx does. remark says what was resumed.
func (s ScreenPapers) Run(ctx context.Context, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (g bench.Grid, all []bench.Results, remark string, err error) {
	done, err := Reproduce(ctx, s.App, paper.Ask{Papers: chosen, Budget: budget, On: on, Say: func(format string, args ...any) { remark = fmt.Sprintf(format, args...) }})
	if done == nil {
		return bench.Grid{}, nil, remark, err
	}
	if done.KeepErr != nil {
		remark = "results not stored: " + done.KeepErr.Error()
	}
	return done.Grid, done.Results, remark, err
}
