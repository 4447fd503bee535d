package paper

import (
	"fmt"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	stripiowork "piton/workloads/stripio"
)

var stripio = Paper{
	Name: "stripio", Title: "Strip I/O: source-aware interrupts",
	Source: "Published 2011, simulation on a RAM disk with 2 × quad Opteron 2384 at 2.7 GHz: two threads of one process (source-aware) against two processes; the peak was 3576.58 MB/s and 53.23 % more; from as many applications as cores on about 2500 MB/s both.",
	claim:  "Published: threads of one process read up to 53.2 % more than processes where there were fewer applications than cores, and no more from there on.",
	weight: 1.5, probe: bench.Study{Args: args("--size", 64)}, sizes: alternatives(len(stripMiB), stripCells), own: []string{"1 threads"}, present: stripSection,
}

var stripMiB = []int{1024, 256, 64}

// stripApps are 1 to twice the CPUs, about eight of them.
func stripApps(m Machine) []int {
	var out []int
	n := min(2*len(m.CPUs), stripiowork.MaxApps)
	for apps := 1; apps <= n; apps += max(n/8, 1) {
		out = append(out, apps)
	}
	return out
}

func stripCells(m Machine, scale int) []cell {
	var out []cell
	for _, apps := range stripApps(m) {
		for _, mode := range stripiowork.Modes {
			out = append(out, cell{fmt.Sprintf("%d %s", apps, mode), bench.Study{Args: args("--apps", apps, "--mode", mode, "--size", stripMiB[scale]), Placements: onlyNormal},
				float64(stripMiB[scale]) / 64 * max(1, 2*float64(apps)/float64(len(m.CPUs)))})
		}
	}
	return out
}

// stripGain is the published gain of threads at the peak. From as many applications as cores on
// there was none.
const stripGain = 0.5323

func stripSection(m Machine, g *cells) report.Section {
	t := report.Table{Title: "Today", Head: []string{"applications", "threads", "CPU use", "processes", "CPU use", "gain of threads"}}
	var pairs []pair
	for _, apps := range stripApps(m) {
		then := stripGain
		if apps >= len(m.CPUs) {
			then = 0
		}
		pairs = append(pairs, pair{g.of("%d %s", apps, stripiowork.Processes), g.of("%d %s", apps, stripiowork.Threads), chart.Plural(apps, "application"), &then})
	}
	all := g.compare(pairs)
	fewer, most := 0, 0.0 // how many pairs have fewer applications than cores
	for i, f := range all {
		if *f.Published > 0 {
			fewer = i + 1
		}
		if a, ok := arm(pairs[i].mine, ""); ok {
			most = max(most, a.Median)
		}
		if f.kind != missing {
			t.Rows = append(t.Rows, []string{fmt.Sprint(stripApps(m)[i]), value(pairs[i].mine), stripUsed(pairs[i].mine), value(pairs[i].base), stripUsed(pairs[i].base), f.cell()})
		}
	}
	if len(t.Rows) == 0 {
		return report.Section{}
	}
	said := words{"more", "less"}
	peak := report.Table{Title: "Published and today, at the peak", Head: []string{"", "published", "today"}}
	peak.Rows = [][]string{{"threads", "3576.58 MB/s", chart.Quantity(most, "MB/s")}, {"CPUs used", "49.47 %", stripUsed(g.of("1 threads"))}, {"cache misses of L2", "−51.37 %", stripMissed(g)}}
	return report.Section{Answer: fmt.Sprintf("%s, with fewer: %s; from there on: %s.", g.today(), said.sum(all[:fewer]), said.sum(all[fewer:])),
		Tables:  []report.Table{peak, t},
		Figures: []chart.Figure{effects("Bandwidth of threads compared with processes", all, "less", "more")}}
}

func stripUsed(r bench.Results) string {
	used, ok := last[stripiowork.Result](r, bench.Normal)
	return orNone(ok, used.CPUPercent/100, chart.Percent)
}

// stripMissed is the share of cache misses that threads have more than processes.
func stripMissed(g *cells) string {
	a, ok := last[stripiowork.Result](g.of("1 threads"), bench.Normal)
	b, okToo := last[stripiowork.Result](g.of("1 processes"), bench.Normal)
	switch {
	case !ok || !okToo:
		return bench.None
	case a.Misses == nil || b.Misses == nil:
		return a.MissesWhy
	case *b.Misses == 0:
		return bench.None
	}
	return signed(float64(*a.Misses)/float64(*b.Misses) - 1)
}
