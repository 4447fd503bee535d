// Package study reproduces the tables of published studies, at sizes that fit a
// budget of time, and prints today's figures beside the published ones.
//
// A paper is a grid of bench.Study cells, most of which bench.Runner makes; those that are no
// runs of a workload under placements have a Maker. Start at Papers and Run.
package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/lab/stripnet"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/workloads"
)

// Paper is one published study, or automatic.
type Paper struct {
	Name   string // of the workload
	Title  string
	Source string // authors and machine
	// claim is what was published, in a sentence; present may set another one.
	claim  string
	weight float64
	// probe is a quick run that measures how fast the machine is; it is placed as most cells are.
	probe bench.Study
	// whole is a study whose cells are each made whole by a Maker. They may be of several
	// workloads.
	whole  bool
	sizes  func(m paper.Machine) []size // the largest first
	rounds int                          // that a verdict takes in every cell, where it is not verdictRounds
	// own are the keys of the cells whose own pictures are shown.
	own []string
	// present makes the tables and figures. Its Answer is what was found, "" for nothing.
	present func(m paper.Machine, g *cells) report.Section
}

// cell is one study of a grid and how much longer a run takes than the probe's.
type cell struct {
	key   string
	study bench.Study
	cost  float64
}

// Papers are all of them in the order in which they run.
var Papers = []Paper{nqueens, matrix, stream, activity, ctxswitch, memlat, chat, stripio, sais, automatic}

func registered() []paper.Paper {
	return group.Each(Papers, func(p Paper) paper.Paper {
		return paper.Paper{Name: p.Name, Title: p.Title, Source: p.Source, Section: p.Section, Pictures: p.Pictures}
	})
}

func init() {
	paper.Papers = registered()
	workloads.OfStudies = append(workloads.OfStudies, stripnet.Workload)
}

// Lookup finds what the house knows by name.
func Lookup(of []paper.Paper) (out []Paper) {
	for _, p := range of {
		out = append(out, only(Papers, func(q Paper) bool { return q.Name == p.Name })...)
	}
	return out
}

func names(papers []Paper) []string {
	return group.Each(papers, func(p Paper) string { return p.Name })
}

// Section is the report of the paper: what was found, and the published figures beside those
// measured so far. What was not run is in one note.
func (p Paper) Section(m paper.Machine, all []bench.Results) report.Section {
	g := &cells{claim: p.claim}
	for _, i := range p.cells(all) {
		g.keys = append(g.keys, strings.TrimPrefix(all[i].Study.Cell, p.Name+" "))
		g.results = append(g.results, all[i])
	}
	s := p.present(m, g)
	s.Answer = strings.TrimSpace(g.claim + " " + cmp.Or(s.Answer, "Nothing was measured here."))
	if d := p.lacks(m, g.results); d > 0 {
		s.Answer += fmt.Sprintf(" A verdict in every cell takes a budget of about %s.", paper.Budget(d))
	}
	s.Title, s.Lead = p.Title, append([]string{p.Source}, s.Lead...)
	if i := slices.IndexFunc(g.results, func(r bench.Results) bool { return r.Study.Noise > 0 }); i >= 0 {
		s.Lead = append(s.Lead, fmt.Sprintf("Load: %s, which the kernel may put on any CPU.", chart.Plural(g.results[i].Study.Noise, "busy process")))
	}
	s.Figures = slices.DeleteFunc(s.Figures, func(f chart.Figure) bool { return f.Plot.Empty() })
	for _, key := range p.own {
		for _, f := range report.Own(g.of("%s", key)) {
			f.Title = key + ": " + f.Title
			s.Figures = append(s.Figures, f)
		}
	}
	s.Compared, s.Tables, s.Notes = g.compared, append(s.Tables, g.table()), append(s.Notes, g.notes()...)
	return s
}

// Pictures draws what a section shows in lines at most width cells wide beside its effects, which
// its text has: its charts, and the workload's own pictures.
func (p Paper) Pictures(s report.Section, all []bench.Results, width int) []string {
	var out []string
	for _, f := range s.Figures {
		if _, done := f.Plot.(chart.Effects); done || strings.Contains(f.Title, ownMark) {
			continue
		}
		if text, ok := f.Plot.(interface{ Text(int) []string }); ok {
			out = append(append(out, "", f.Title), text.Text(width)...)
		}
	}
	for _, i := range p.cells(all) {
		key := strings.TrimPrefix(all[i].Study.Cell, p.Name+" ")
		if lines, err := all[i].Picture(width); err == nil && len(lines) > 0 && slices.Contains(p.own, key) {
			out = append(append(out, "", key), lines...)
		}
	}
	return out
}

// ownMark is in the titles of the workloads' own figures, see report.Own; the
// terminal has other pictures of them.
const ownMark = ", run "

type cells struct {
	claim   string
	keys    []string
	results []bench.Results
	notRun  []string // what was published and not measured; nil = the cells without runs
	// compared are comparisons of one cell with another.
	compared []report.Compared
}

// measured reports whether a cell whose key begins so has runs.
func (g *cells) measured(format string, args ...any) bool {
	for i, key := range g.keys {
		if strings.HasPrefix(key, fmt.Sprintf(format, args...)) && len(g.results[i].Runs) > 0 {
			return true
		}
	}
	return false
}

// today begins a sentence about cells that were run without background load, all of those where
// none is named, and says how quiet it was then if that was measured.
func (g *cells) today(keys ...string) string {
	var pooled bench.Results
	for i, r := range g.results {
		if r.Study.Noise == 0 && (keys == nil || slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(g.keys[i], k) })) {
			pooled.Runs = append(pooled.Runs, r.Runs...)
		}
	}
	switch rep := bench.Judge(pooled); {
	case rep.IsQuiet():
		return "Today, quiet"
	case rep.HaveOthers:
		return "Today (" + rep.Quiet() + ")"
	}
	return "Today"
}

// of is a cell by its key; an empty one where there is none.
func (g *cells) of(format string, args ...any) bench.Results {
	if i := slices.Index(g.keys, fmt.Sprintf(format, args...)); i >= 0 {
		return g.results[i]
	}
	return bench.Results{}
}

// arm is what a cell's placement came to; with no placement named, its first.
func arm(r bench.Results, p bench.Placement) (bench.Arm, bool) {
	for _, a := range bench.Judge(r).Arms {
		if a.Placement == p || p == "" {
			return a, a.Runs > 0
		}
	}
	return bench.Arm{}, false
}

// orNone is a text where there is a value.
func orNone(ok bool, text string) string {
	if !ok {
		return bench.None
	}
	return text
}

func value(r bench.Results) string {
	a, ok := arm(r, "")
	return orNone(ok, r.Study.Metric().Format(a.Median))
}

// table is every cell with its intervals; what they come to is in the other tables.
func (g *cells) table() report.Table {
	t := report.Table{Title: "Every cell", Below: true, Folded: true,
		Head: []string{"cell", "placement", "runs", bench.Headings.Median, bench.Headings.Interval, bench.Headings.Migrations, bench.Headings.RunDelay}}
	if right, runs := paper.Answers(g.results); runs > 0 {
		t.Title += fmt.Sprintf(": the answer was right in %d of %d runs", right, runs)
	}
	for i, r := range g.results {
		rep := bench.Judge(r)
		for k, row := range bench.Rows(rep) {
			if rep.Arms[k].Runs > 0 {
				t.Rows = append(t.Rows, []string{g.keys[i], row.Placement, fmt.Sprint(rep.Arms[k].Runs), row.Median, row.Interval, row.Migrations, row.RunDelay})
			}
		}
	}
	return t
}

// notes are what was not run, what failed, and warnings of the cells.
func (g *cells) notes() []string {
	var out, waiting, short []string
	for i, r := range g.results {
		if len(r.Runs) == 0 {
			waiting = append(waiting, g.keys[i])
		}
		for _, run := range r.Runs {
			if run.Err != "" {
				out = append(out, fmt.Sprintf("%s under %s failed: %s", g.keys[i], run.Placement, run.Err))
			}
		}
		rep := bench.Judge(r)
		if r.Study.ShortRuns(rep.Shortest()) != "" {
			short = append(short, g.keys[i])
		}
		for _, w := range rep.Warnings {
			if strings.HasPrefix(w, "the hypervisor") {
				out = append(out, g.keys[i]+": "+w)
			}
		}
		if r.StoreErr != nil {
			out = append(out, "results not stored: "+r.StoreErr.Error())
		}
	}
	if g.notRun == nil && len(waiting) < len(g.results) { // else the answer says so
		g.notRun = waiting
	}
	if len(g.notRun) > 0 {
		out = append(out, paper.NotRun+strings.Join(g.notRun, "; "))
	}
	if len(short) > 0 {
		out = append(out, "runs too short to judge (a larger --budget makes them longer): "+strings.Join(short, ", "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// last is the workload's own result of the last valid run of a cell's placement.
func last[R any](r bench.Results, p bench.Placement) (out R, ok bool) {
	run, ok := r.Last(p)
	ok = ok && json.Unmarshal(run.Detail, &out) == nil
	return out, ok
}

// foundIn is what a cell that was made whole found beside its runs: the Detail of its run that
// does not count.
func foundIn[T any](r bench.Results) (found T, ok bool) {
	for _, run := range r.Runs {
		if run.Index == bench.WarmupIndex && run.Err == "" {
			err := json.Unmarshal(run.Detail, &found)
			return found, err == nil
		}
	}
	return found, false
}

func isMade(r bench.Results) bool { _, ok := foundIn[json.RawMessage](r); return ok }

func signed(share float64) string {
	text := chart.Percent(math.Abs(share))
	switch {
	case text == "0 %":
		return text
	case share < 0:
		return "−" + text
	}
	return "+" + text
}

// args are a workload's flags and values as words.
func args(words ...any) []string { return texts(words) }

func texts[V any](all []V) []string {
	return group.Each(all, func(v V) string { return fmt.Sprint(v) })
}

func only[V any](all []V, is func(V) bool) []V {
	return slices.DeleteFunc(slices.Clone(all), func(v V) bool { return !is(v) })
}

var onlyNormal, onlyLeastLoaded = []bench.Placement{bench.Normal}, []bench.Placement{leastLoaded}
