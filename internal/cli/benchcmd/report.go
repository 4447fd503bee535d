package benchcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/kernel"
	"piton/internal/paper"
	"piton/internal/report"
)

type reportOptions struct {
	last     flags.Count
	workload string
	output   output.Format
}

// newBenchReport prints stored studies.
func newBenchReport(a *app.App) *cobra.Command {
	o := &reportOptions{last: flags.Count{N: 1, Min: 1, Max: bench.MaxRuns}}
	cmd := &cobra.Command{
		Use:   "report [ID…]",
		Short: "print stored studies",
		Long: `Print what is stored: the last study, with a list of those before it, or those whose IDs are given. Published studies that
were reproduced together are one. Where a study differs from the last one of the same work before it, that is said, with the
differences in the machine's conditions.`,
		Example: "  piton bench report -o html > report.html\n" +
			"  piton bench report --workload nqueens --last 5 -o markdown",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (o.workload != "" || cmd.Flags().Changed("last")) {
				return exit.Usagef("give either study IDs or --last and --workload")
			}
			return runBenchReport(a, args, o)
		},
	}
	fs := cmd.Flags()
	fs.Var(&o.last, "last", "number of studies, newest last")
	fs.StringVar(&o.workload, "workload", "", "only studies of this `WORKLOAD`")
	o.output.AddFlag(fs, benchFormats...)
	return cmd
}

func runBenchReport(a *app.App, ids []string, o *reportOptions) error {
	path, err := store.DefaultPath(a.Getenv, kernel.EUID())
	if err != nil {
		return err
	}
	history, err := store.New(path).Read()
	if err != nil {
		return err
	}
	for _, note := range history.Notes {
		a.Warn("%s", note)
	}
	missing, printed, err := o.print(a, history, ids)
	if err == nil && missing != nil && printed {
		err = exit.With(exit.Some, missing)
	}
	return cmp.Or(err, missing)
}

// print prints those with these IDs, or the last ones; missing is about IDs of which there is
// nothing, and some says that there is something of others.
func (o *reportOptions) print(a *app.App, h store.History, ids []string) (missing error, some bool, err error) {
	all := paper.All(h)
	var chosen []paper.Stored
	var none []string
	for _, id := range ids {
		i := slices.IndexFunc(all, func(s paper.Stored) bool { return s.ID() == id })
		cell := slices.IndexFunc(h.Studies, func(r bench.Results) bool { return r.ID == id })
		switch {
		case i >= 0:
			chosen = append(chosen, all[i])
		case cell >= 0: // of reproduced studies
			chosen = append(chosen, paper.Stored{Studies: h.Studies[cell : cell+1]})
		default:
			none = append(none, id)
		}
	}
	if len(none) > 0 {
		missing = fmt.Errorf("no stored study %s; piton bench report --last 100 -o json lists them", strings.Join(none, ", "))
	}
	switch {
	case len(chosen) > 0:
		return missing, true, o.write(a, h, chosen)
	case missing != nil:
		return missing, false, nil
	}
	all = slices.DeleteFunc(all, func(s paper.Stored) bool {
		return o.workload != "" && (s.Published() || s.Studies[0].Study.Workload != o.workload)
	})
	if len(all) == 0 {
		return nil, false, fmt.Errorf("no stored result of %s", cmp.Or(o.workload, "any workload"))
	}
	first := max(len(all)-o.last.N, 0)
	if err := o.write(a, h, all[first:]); err != nil || o.output.Value != output.AsTable || first == 0 {
		return nil, true, err
	}
	fmt.Fprintf(textOf(a), "\nstored before it:\n")
	for i, r := range slices.Backward(all[:first]) {
		if first-i > mostListed {
			fmt.Fprintf(textOf(a), "and %d more\n", i+1)
			break
		}
		fmt.Fprintln(textOf(a), headline(r))
	}
	return nil, true, nil
}

// mostListed is how many results are listed below the last one.
const mostListed = 20

// headline is what was run and when, in a line.
func headline(s paper.Stored) string {
	return fmt.Sprintf("%s  %s  %s", s.ID(), Minute(s.Studies[0].Started), s.What())
}

// write prints some of them in a format.
func (o *reportOptions) write(a *app.App, h store.History, chosen []paper.Stored) error {
	out, inText := benchOutput{a: a, format: o.output.Value}, o.output.Value == output.AsTable
	var sections []report.Section
	for i, r := range chosen {
		if inText {
			fmt.Fprintf(textOf(a), "%s%s\n", strings.Repeat("\n", min(i, 1)), headline(r))
		}
		var err error
		switch papers, lookup := paperOutputOf(a, r.Grid.Papers, o.output.Value); {
		case lookup != nil:
			err = lookup
		case r.Published() && inText:
			err = papers.print(r.Studies)
		case r.Published():
			sections = append(sections, paper.Sections(papers.papers, papers.layout, r.Studies)...)
		case inText:
			err = out.table(r.Studies[0], h.Before(r.Studies[0]))
		default:
			sections = append(sections, report.Study(r.Studies[0], h.Before(r.Studies[0])))
		}
		if err != nil {
			return err
		}
	}
	switch o.output.Value {
	case output.AsTable:
		return nil
	case output.AsJSON, output.AsCSV:
		var all []bench.Results
		for _, r := range chosen {
			all = append(all, r.Studies...)
		}
		return out.records(all, sections)
	}
	title := "piton bench"
	if !slices.ContainsFunc(chosen, func(s paper.Stored) bool { return !s.Published() }) {
		title = paperTitle
	}
	return writeSections(a, o.output.Value, title, sections)
}

// records prints the same lines as when studies ran, and how sections compare them.
func (o *benchOutput) records(studies []bench.Results, sections []report.Section) error {
	if err := o.begin(); err != nil {
		return err
	}
	for _, r := range studies {
		for _, run := range r.Runs {
			if o.event(bench.Event{Ended: true, Study: r.ID, Run: run}); o.err != nil {
				return o.err
			}
		}
		if o.format == output.AsJSON {
			if err := o.summary(r); err != nil {
				return err
			}
		}
	}
	if o.format != output.AsJSON {
		return nil
	}
	for _, s := range sections {
		for _, c := range s.Compared {
			if err := o.json(store.ComparisonJSON(c.Base, c.Study, c.Workload, c.Comparison)); err != nil {
				return err
			}
		}
	}
	return nil
}

// paperOutputOf prints stored reproductions of published studies.
func paperOutputOf(a *app.App, names []string, format string) (paperOutput, error) {
	chosen, err := paper.Lookup(names)
	if err != nil || len(chosen) == 0 {
		return paperOutput{}, err
	}
	out := paperOutput{a: a, papers: chosen, o: &paperOptions{}}
	if _, err := out.machine(); err != nil {
		return out, err
	}
	out.o.output.Value = format
	return out, nil
}
