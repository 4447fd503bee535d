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
		Long: `Print stored studies: the last one, or those whose IDs are given; an ID of reproduced studies prints these. Where a
study differs from the last one of the same work before it, that is said, with the differences in the machine's conditions.`,
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
	ids, missing := stored(history, ids)
	if missing != nil && len(ids) == 0 {
		return missing
	}
	if err := o.print(a, history, ids); err != nil {
		return err
	}
	if missing != nil {
		return exit.With(exit.Some, missing)
	}
	return nil
}

// stored are the IDs that there is a study or a reproduction of; missing is about the others.
func stored(h store.History, ids []string) (found []string, missing error) {
	var none []string
	for _, id := range ids {
		if study(h, id) >= 0 || slices.ContainsFunc(h.Grids, func(g bench.Grid) bool { return g.ID == id }) {
			found = append(found, id)
		} else {
			none = append(none, id)
		}
	}
	if len(none) > 0 {
		missing = fmt.Errorf("no stored study %s; piton bench report --last 100 -o json lists them", strings.Join(none, ", "))
	}
	return found, missing
}

// study is the index of the study with an ID, -1 for none.
func study(h store.History, id string) int {
	return slices.IndexFunc(h.Studies, func(r bench.Results) bool { return r.ID == id })
}

// print prints the studies with these IDs, or the last ones.
func (o *reportOptions) print(a *app.App, h store.History, ids []string) error {
	for _, g := range h.Grids {
		if slices.Equal(ids, []string{g.ID}) {
			return reportPapers(a, h, g, o.output.Value)
		}
	}
	chosen, err := o.choose(h, ids)
	if err != nil {
		return err
	}
	return printStudies(a, h, chosen, o.output.Value)
}

// choose finds stored studies by their IDs, or the last ones.
func (o *reportOptions) choose(h store.History, ids []string) ([]bench.Results, error) {
	var out []bench.Results
	for _, id := range ids {
		i := study(h, id)
		if i < 0 {
			return nil, exit.Usagef("%s is a reproduction of published studies: print it alone", id)
		}
		out = append(out, h.Studies[i])
	}
	if len(ids) > 0 {
		return out, nil
	}
	for _, r := range h.Studies {
		if r.Study.Grid == "" && len(r.Runs) > 0 && (o.workload == "" || r.Study.Workload == o.workload) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no stored result of %s", cmp.Or(o.workload, "any workload"))
	}
	return out[max(len(out)-o.last.N, 0):], nil
}

func printStudies(a *app.App, h store.History, studies []bench.Results, format string) error {
	out := benchOutput{a: a, format: format}
	switch format {
	case output.AsJSON, output.AsCSV:
		return printRecords(&out, studies)
	case output.AsTable:
		for i, r := range studies {
			if i > 0 {
				fmt.Fprintln(a)
			}
			fmt.Fprintf(a, "%s  %s  %s\n", r.ID, minute(r.Started), report.Command(r.Study))
			if err := out.table(r, earlier(h, r)); err != nil {
				return err
			}
		}
		return nil
	}
	var sections []report.Section
	for _, r := range studies {
		sections = append(sections, report.Study(r, earlier(h, r)))
	}
	return writeSections(a, format, "piton bench", sections)
}

// printRecords prints the same lines as when the studies ran.
func printRecords(out *benchOutput, studies []bench.Results) error {
	if err := out.begin(); err != nil {
		return err
	}
	for _, r := range studies {
		for _, run := range r.Runs {
			if out.event(bench.Event{Kind: bench.RunEnded, Study: r.ID, Run: run}); out.err != nil {
				return out.err
			}
		}
		if out.format == output.AsJSON {
			if err := out.summary(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportPapers prints stored reproductions of published studies.
func reportPapers(a *app.App, h store.History, g bench.Grid, format string) error {
	chosen, err := paper.Lookup(g.Papers)
	if err != nil {
		return err
	}
	all, err := newPapers(a, chosen, 0, nil)
	if err != nil {
		return err
	}
	out := paperOutput{a: a, papers: chosen, o: &paperOptions{}, machine: all.options.Machine}
	out.o.output.Value = format
	return out.print(paper.Cells(h, g))
}
