// Package paper is what the house knows of published studies: their names, their sections, and
// what is stored of them. The laboratory has the studies, and registers them.
package paper

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/group"
	"piton/internal/report"
	"piton/internal/topology"
)

// Paper is one published study.
type Paper struct {
	Name   string // of the workload
	Title  string
	Source string // authors and machine
	// Section is the report of the paper: what was found, and the published figures beside those
	// measured so far. What was not run is in one note.
	Section func(m Machine, all []bench.Results) report.Section
	// Pictures draws what a section shows in lines at most width cells wide beside its effects,
	// which its text has.
	Pictures func(s report.Section, all []bench.Results, width int) []string
}

// Papers are all of them in the order in which they run.
var Papers []Paper

// Names are the names of Papers.
func Names() []string { return group.Each(Papers, func(p Paper) string { return p.Name }) }

// Lookup finds papers by name.
func Lookup(names []string) ([]Paper, error) {
	var out []Paper
	for _, name := range names {
		i := slices.IndexFunc(Papers, func(p Paper) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown study %q; studies are %s", name, strings.Join(Names(), ", "))
		}
		out = append(out, Papers[i])
	}
	return out, nil
}

// Machine is what a grid depends on.
type Machine struct {
	CPUs  []int // that may be used, ascending
	Nodes int   // with memory
	// Tuna reports whether the program of that name is here, to compare with.
	Tuna bool
}

// NewMachine takes it from a topology.
func NewMachine(topo *topology.Topology, tuna bool) Machine {
	m := Machine{Tuna: tuna}
	for _, c := range topo.Allowed.And(topo.Online).CPUs() {
		m.CPUs = append(m.CPUs, int(c))
	}
	for _, n := range topo.Nodes {
		if n.Allowed && n.MemoryBytes > 0 {
			m.Nodes++
		}
	}
	return m
}

// NotRun begins the note of what was published and is not measured.
const NotRun = "not run here: "

// Running is the section while more runs are coming: without an answer, and what is not run yet may
// still be.
func (p Paper) Running(m Machine, all []bench.Results) report.Section {
	s := p.Section(m, all)
	s.Answer, s.Figures = "", nil
	s.Notes = slices.DeleteFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, NotRun) })
	return s
}

// Sections are those of several papers. The last has the conditions, folded: they were read when
// the first cell started.
func Sections(papers []Paper, m Machine, all []bench.Results) []report.Section {
	out := group.Each(papers, func(p Paper) report.Section { return p.Section(m, all) })
	if len(all) > 0 && len(out) > 0 {
		last := &out[len(out)-1]
		last.Tables = append(last.Tables, report.Conditions(all[0].Conditions))
	}
	return out
}

// Answers is how many runs of some cells gave the right answer, of those that gave one.
func Answers(cells []bench.Results) (right, runs int) {
	for _, r := range cells {
		ok, all := r.Answers()
		right, runs = right+ok, runs+all
	}
	return right, runs
}

// Ask asks for papers to be reproduced.
type Ask struct {
	Papers []Paper
	Budget time.Duration
	Anyway bool                             // although the budget is too small for a verdict
	Fresh  bool                             // what was interrupted is not resumed
	On     func(Progress)                   // may be nil
	Say    func(format string, args ...any) // what is resumed or left out
}

// Done is what was reproduced.
type Done struct {
	Grid    bench.Grid
	Results []bench.Results // the cells of all papers
	KeepErr error           // why they could not be stored; they are all here
}

// Progress is how far a run of papers is.
type Progress struct {
	Grid   bench.Grid
	Paper  string
	Cell   string          // that runs now
	Run    bench.RunResult // its PID is 0 between runs
	Round  int             // of the cell, from 1
	Cells  int             // before it in the paper
	Of     int
	Left   time.Duration // until the end at the latest
	Result []bench.Results
}

// TooLittle is the error of a budget in which papers get no verdict.
type TooLittle struct {
	Papers string // their names
	Budget time.Duration
	Need   time.Duration // a budget that would do
}

func (e TooLittle) Error() string {
	return fmt.Sprintf("%s is too little time for a verdict of %s; %s would do", Budget(e.Budget), e.Papers, Budget(e.Need))
}

// Budget is a time as --budget takes it.
func Budget(d time.Duration) string { return strings.Replace(d.String(), "m0s", "m", 1) }
