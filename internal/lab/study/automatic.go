package study

import (
	"fmt"
	"strings"

	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
)

var automatic = Paper{
	Name: "automatic", Title: "Automatic placement: piton auto compared with the best of all candidates",
	Source: "Not a published study: each workload runs without end under the kernel's placement, piton auto's search is made, and then all its candidates are tried to find the best.",
	weight: 4, whole: true, rounds: 1, sizes: func(m paper.Machine) []size { return []size{{ways: [][]cell{automaticCells(m)}}} }, present: automaticSection,
}

// ownRuns is the rate of the work, as the workload counts it; others are package runner's.
const ownRuns = "runs"

// searchedWork is a workload of automatic: sizes of which a run is short beside a period, or
// longer than any search, and the rate that is nearest to its work.
type searchedWork struct {
	name       string
	args       []string
	rate, unit string
}

var searchedWorks = []searchedWork{
	{"nqueens", args("-n", 11), ownRuns, "/s"},
	{"matrix", args("-n", 100, "--threads", 2), ownRuns, "/s"},
	{"stream", args("--size", 2, "--reps", 5), ownRuns, "/s"},
	{"activity", args("--ms", 600_000), "cpu", "ms/s"},
	{"ctxswitch", args("--rounds", 100_000_000), "switches", "/s"},
	{"memlat", args("--size", 1), "cpu", "ms/s"},
	{"chat", args("--rooms", 1, "--messages", 100_000), "bytes", "B/s"},
	{"stripio", args("--mode", "processes", "--size", 1<<20), "bytes", "B/s"},
	{"wakeup", args("--requests", 600_000), "switches", "/s"},
}

// automaticLoads are the machines that are searched on: idle, and with a busy process for
// each CPU that the kernel may put on any.
var automaticLoads = []string{"quiet", "noisy"}

func automaticCells(m paper.Machine) (out []cell) {
	cost := (leastSearched(len(m.CPUs)+1) * 2 / 3).Seconds() / float64(len(searchedPlacements)) // by the fewest candidates
	for i, load := range automaticLoads {                                                       // where the time is short, all have been on the quiet one
		for _, w := range searchedWorks {
			s := bench.Study{Workload: w.name, Args: w.args, Noise: i * len(m.CPUs), Placements: searchedPlacements, Runs: mostCompared,
				Figure: bench.Figure{Pattern: w.rate, Unit: w.unit, HigherIsBetter: true}}
			out = append(out, cell{w.name + " " + load, s, cost})
		}
	}
	return out
}

func automaticSection(_ paper.Machine, g *cells) report.Section {
	near := report.Table{Title: "How near piton auto comes to the best", Keys: 2,
		Head: []string{"workload", "machine", "kernel", "manual best", "against kernel", "auto keeps", "against kernel", "auto against manual best"}}
	cost := report.Table{Title: "What the search cost", Keys: 2,
		Head: []string{"workload", "machine", "judged by", "candidates", "periods", "time", "work lost", "time of trying all"}}
	s := report.Section{Lead: []string{
		"All candidates were tried in rounds of periods of 0.2 s. Manual best is the one with the highest median in them, the kernel's placement left out.",
		"It, the kernel's placement and what the search keeps were then compared in fresh periods, interleaved, as pairs of one round; intervals are of 95 %.",
		"The kernel's placement is the affinity that the workload starts with. ctxswitch pins its processes to one CPU itself; there, free is the kernel's choice.",
		"Rates: runs of the work; switches or bytes where each is a unit of it; CPU time where the work lasts a fixed time, which does not show how fast it ran.",
		"Work lost: the share by which the rate over the whole search is below the mean of its periods under the kernel's placement. Below 0 it was gained, or is chance.",
	}}
	said := words{"more work", "less work"}
	for i, load := range automaticLoads {
		named := [...]string{"without load", "under load"}[i]
		var all, kernels, bests []finding
		for _, w := range searchedWorks {
			line, ok := searchOf(g.of("%s %s", w.name, load))
			if !ok {
				if len(line.results.Runs) == 0 {
					g.notRun = append(g.notRun, w.name+" "+named)
				}
				continue
			}
			d := line.found
			near.Rows = append(near.Rows, append([]string{w.name, named}, line.near()...))
			cost.Rows = append(cost.Rows, append([]string{w.name, named}, line.cost()...))
			kernels, bests = append(kernels, line.finding(w.name, d.Kept, 0)), append(bests, line.finding(w.name, d.Kept, d.Manual))
			all = append(all, line.finding(w.name+", manual best", d.Manual, 0), line.finding(w.name+", auto", d.Kept, 0))
		}
		s.Figures = append(s.Figures, effects("Work compared with the kernel's placement, "+named, all, "less", "more"))
		if len(kernels) > 0 {
			s.Answer += fmt.Sprintf("%s, piton auto compared with the kernel's placement: %s; with the best of all candidates: %s. ", strings.ToUpper(named[:1])+named[1:], said.sum(kernels), said.sum(bests))
		}
	}
	if s.Answer = strings.TrimSpace(s.Answer); s.Answer == "" {
		g.notRun = nil
	}
	s.Tables = []report.Table{near, cost}
	return s
}

// searchLine is a cell in words.
type searchLine struct {
	results bench.Results
	found   searched
}

func searchOf(r bench.Results) (searchLine, bool) {
	d, ok := foundIn[searched](r)
	return searchLine{r, d}, ok && min(d.Manual, d.Kept) >= 0 && max(d.Manual, d.Kept) < len(d.Candidates)
}

// label is a candidate's name with its CPUs.
func (c searchedCandidate) label() string {
	if c.Name == auto.Kernel || strings.HasSuffix(c.Name, c.CPUs) {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, c.CPUs)
}

func (l searchLine) near() []string {
	against := func(candidate, base int) string { return l.finding("", candidate, base).cell() }
	kernel, _ := arm(l.results, bench.Normal)
	manual, kernels, autos := bench.None, bench.None, bench.None
	if l.found.Manual != 0 { // there is another candidate than the kernel's
		manual, kernels, autos = l.found.Candidates[l.found.Manual].label(), against(l.found.Manual, 0), against(l.found.Kept, l.found.Manual)
	}
	return []string{chart.Quantity(kernel.Median, l.results.Study.Figure.Unit), manual, kernels,
		l.found.Candidates[l.found.Kept].label(), against(l.found.Kept, 0), autos}
}

func (l searchLine) cost() []string {
	lost := strings.TrimPrefix(signed(l.found.Lost), "+") // below 0 it was gained
	return []string{l.results.Study.Figure.Pattern, fmt.Sprint(len(l.found.Candidates)), fmt.Sprint(l.found.Periods), chart.Quantity(l.found.Seconds, "s"),
		lost, chart.Quantity(l.found.TriedSeconds, "s")}
}

// placement is that of a candidate in the comparison.
func (l searchLine) placement(candidate int) bench.Placement {
	switch candidate {
	case 0:
		return bench.Normal
	case l.found.Manual:
		return manualBest
	}
	return byAuto
}

// finding is a candidate's rate compared with that of another, from the pairs of each round.
func (l searchLine) finding(label string, candidate, base int) finding {
	if candidate == base {
		return finding{EffectRow: chart.EffectRow{Label: label, Remark: "the same placement"}, kind: same}
	}
	return ratioOf(label, roundRatios(l.results, l.placement(candidate), l.placement(base)))
}
