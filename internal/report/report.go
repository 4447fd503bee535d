// Package report prints studies and papers: as text, markdown, SVG and one
// self-contained HTML page.
//
// It measures nothing and decides nothing: figures and verdicts are bench's.
// Start at Study, which makes a Section that every format prints.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/shell"
	"piton/workloads/workload"
)

// Section is the report of one study or paper.
type Section struct {
	Title   string
	Answer  string   // what was found, in one or two sentences; it comes first
	Lead    []string // sentences below it
	Figures []chart.Figure
	Tables  []Table
	Notes   []string // what changes what to think; the other remarks are among the conditions
	// Compared are comparisons of one study with another, for programs.
	Compared []Compared
}

// Compared is a study compared with another one by their first placements.
type Compared struct {
	Base, Study string // IDs
	Workload    string
	Comparison  bench.Comparison
}

// Table is rows of cells under a heading; rows are as long as Head.
type Table struct {
	Title  string
	Head   []string
	Rows   [][]string
	Keys   int  // leading columns that name a row; 0 = the first
	Below  bool // it comes last, and in text not at all
	Folded bool // in HTML and markdown it opens with a click
}

// Numeric reports whether a column has figures only, which stand to the right.
func (t Table) Numeric(column int) bool {
	some := false
	for _, row := range t.Rows {
		cell := strings.TrimLeft(row[column], "+−-~ <[")
		if cell == "" || cell == bench.None {
			continue
		}
		if cell[0] < '0' || cell[0] > '9' {
			return false
		}
		some = true
	}
	return some
}

// Study is the section of one study; earlier is the one that it is compared with, if any.
func Study(r bench.Results, earlier *bench.Earlier) Section {
	rep := bench.Judge(r)
	s := Section{Title: Command(r.Study), Answer: rep.Answer(), Lead: lead(r, rep), Figures: Figures(r)}
	notes, rest := rep.Notes()
	if earlier != nil && earlier.Comparison.Different {
		notes = append([]string{earlier.Sentence()}, notes...)
	} else if earlier != nil {
		rest = append(rest, earlier.Sentence())
	}
	if r.StoreErr != nil {
		notes = append(notes, "results not stored: "+r.StoreErr.Error())
	}
	s.Notes = notes
	s.Tables = append(s.Tables, verdicts(rep), counters(rep), Conditions(r.Conditions, rest...), runs(r))
	return s
}

// Command is the work of a study as on a command line.
func Command(s bench.Study) string {
	if s.Workload == bench.CommandWorkload {
		return shell.Join(slices.Concat([]string{s.Workload}, noise(s), []string{"--"}, s.Args)...)
	}
	return shell.Join(slices.Concat([]string{s.Workload}, s.Args, noise(s))...)
}

func noise(s bench.Study) []string {
	if s.Noise == 0 {
		return nil
	}
	return []string{"--noise", fmt.Sprint(s.Noise)}
}

// CommandLine is the command that runs a study again.
func CommandLine(s bench.Study) string {
	words, command := []string{"piton", "bench", s.Workload}, []string(nil)
	option := func(given bool, flag string, value ...any) {
		if given {
			words = append(words, flag)
			words = append(words, group.Each(value, func(v any) string { return fmt.Sprint(v) })...)
		}
	}
	switch s.Workload {
	case bench.AttachWorkload: // of the PID; its name is for people
		words = append(words, s.Args[:min(1, len(s.Args))]...)
		option(true, "--rate", s.Figure.Pattern)
		option(true, "--period", s.Period)
	case bench.CommandWorkload:
		option(s.Figure.Pattern != "", "--metric", s.Figure.Pattern)
		option(s.Figure.Unit != "", "--unit", s.Figure.Unit)
		option(s.Figure.HigherIsBetter, "--higher-is-better")
		command = append([]string{"--"}, s.Args...)
	default:
		words = append(words, s.Args...)
	}
	words = append(words, noise(s)...)
	for _, p := range s.Placements {
		option(true, "--place", p)
	}
	option(true, "--runs", s.Runs)
	option(true, "--warmup", s.Warmup)
	option(s.Until > 0, "--until", strconv.FormatFloat(s.Until, 'g', -1, 64))
	option(s.Budget > 0, "--budget", s.Budget)
	option(s.Counters, "--counters")
	option(s.Timeout > 0 && s.Timeout != bench.DefaultTimeout, "--timeout", s.Timeout)
	return shell.Join(append(words, command...)...)
}

func lead(r bench.Results, rep bench.Report) []string {
	text := fmt.Sprintf("%s, %s per placement after %d warm-up, interleaved", r.Started.Local().Format("2006-01-02 15:04:05 MST"), chart.Plural(r.Study.Runs, "run"), r.Study.Warmup)
	if r.Study.Until > 0 {
		text += fmt.Sprintf(", then more until every interval is within %s of its median", chart.Percent(r.Study.Until))
	}
	what := "time of the work"
	if m := r.Study.Metric(); m != (workload.Metric{}) {
		what = strings.TrimSpace(m.Name + " " + m.Unit)
	}
	out := []string{text + ". Compared: " + what + "."}
	if quality := rep.Quality(); quality != "" {
		out = append(out, strings.ToUpper(quality[:1])+quality[1:]+".")
	}
	return out
}

func verdicts(rep bench.Report) Table {
	h := bench.Headings
	t := Table{Title: "Placements", Head: []string{h.Placement, "runs", h.Median, h.Interval, h.Migrations, h.RunDelay, h.Verdict}}
	for i, r := range bench.Rows(rep) {
		t.Rows = append(t.Rows, []string{r.Placement, fmt.Sprint(rep.Arms[i].Runs), r.Median, r.Interval, r.Migrations, r.RunDelay, r.Verdict})
	}
	return t
}

// counters are the medians of the performance counters, a row for each; no rows
// where none were counted.
func counters(rep bench.Report) Table {
	t := Table{Title: "Counters, median per run", Head: []string{"counter"}}
	for i, a := range rep.Arms {
		t.Head = append(t.Head, string(a.Placement))
		for _, c := range a.Counts {
			name, text := strings.ReplaceAll(c.Name, "_", " "), chart.Quantity(c.Value, "")
			if c.Share < 1 {
				text = "~" + text // scaled up: a warning says so
			}
			at := slices.IndexFunc(t.Rows, func(row []string) bool { return row[0] == name })
			if at < 0 {
				at = len(t.Rows)
				t.Rows = append(t.Rows, append([]string{name}, slices.Repeat([]string{bench.None}, len(rep.Arms))...))
			}
			t.Rows[at][i+1] = text
		}
	}
	return t
}

// Conditions is the table of them, with further remarks.
func Conditions(c bench.Conditions, remarks ...string) Table {
	t := Table{Title: "Conditions", Below: true, Folded: true, Head: []string{"condition", "value"}}
	for _, f := range c.List() {
		t.Rows = append(t.Rows, []string{f.Name, cmp.Or(f.Value, bench.None)})
	}
	for _, r := range remarks {
		t.Rows = append(t.Rows, []string{"remark", r})
	}
	return t
}

func runs(r bench.Results) Table {
	t := Table{Title: "Every run", Below: true, Folded: true, Head: []string{"placement", "run", "value", "wall", "CPUs", "migrations", "steal", "others", "answer", "remark"}}
	for _, run := range r.Runs {
		index, migrations, steal, others := "warm-up", bench.None, bench.None, bench.None
		if run.Index >= 0 {
			index = fmt.Sprint(run.Index + 1)
		}
		if run.HaveMigrations() {
			migrations = fmt.Sprint(run.Migrations)
		}
		if run.HaveSteal {
			steal = chart.Percent(run.StealShare)
		}
		if run.HaveOthers {
			others = chart.Percent(max(run.Others, 0)) + " of a CPU"
		}
		remark := run.Err
		if run.Touched {
			remark = "changed by someone else: " + run.TouchedWhat
		}
		t.Rows = append(t.Rows, []string{string(run.Placement), index, r.Study.Metric().Format(run.Metric), chart.Quantity(run.Wall.Seconds(), "s"),
			run.CPUs, migrations, steal, others, run.Answer, remark})
	}
	return t
}

// Figures are the pictures of a study: the effects of its placements, its runs in order,
// and those of the workload itself.
func Figures(r bench.Results) []chart.Figure {
	rep := bench.Judge(r)
	var out []chart.Figure
	if len(rep.Comparisons) > 0 {
		out = append(out, chart.Figure{Title: "Against " + string(rep.Arms[0].Placement), Plot: rep.Effects(), Note: "Dots are estimates, bars their 95 % intervals."})
	}
	out = append(out, chart.Figure{Title: "Run by run", Plot: rep.RunStrips()})
	return append(out, Own(r)...)
}

// Own are the workload's own pictures of a last valid run, that of the first placement that has one
// which can be read: another version may have written it; the table has its figures.
func Own(r bench.Results) []chart.Figure {
	for _, p := range r.Study.Placements {
		last, ok := r.Last(p)
		if drawn, err := r.Drawn(last); ok && drawn != nil && err == nil {
			figures := drawn.Figures()
			for i := range figures {
				figures[i].Title += fmt.Sprintf(" (%s, run %d)", p, last.Index+1)
			}
			if len(figures) > 0 {
				return figures
			}
		}
	}
	return nil
}

// SVG has the figures of sections in one document. A section without one has its answer, which
// says what is missing.
func SVG(sections []Section) []byte {
	var figures []chart.Figure
	for _, s := range sections {
		if len(s.Figures) == 0 {
			s.Figures = []chart.Figure{{Title: s.Title, Note: cmp.Or(s.Answer, "Nothing was measured.")}}
		}
		figures = append(figures, s.Figures...)
	}
	return chart.SVG(figures)
}
