package study

import (
	"fmt"
	"slices"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	nqueenswork "piton/workloads/nqueens"
)

// Placements of the N-Queens table; FIFO and RR are at priority 6 as published.
const (
	leastLoaded bench.Placement = "least-loaded"
	pitonFIFO   bench.Placement = "least-loaded+fifo:6"
	pitonRR     bench.Placement = "least-loaded+rr:6"
)

var nqueens = Paper{
	Name: "nqueens", Title: "N-Queens: pinned and real-time (PI-Tool)",
	Source: "Published 2014: Intel Core i7-4770K, 4 cores, 8 threads, 3.5 GHz, Linux 3.14; FIFO and RR at priority 6, pinned to one CPU.",
	weight: 3, probe: bench.Study{Args: args("-n", queensProbe), Placements: []bench.Placement{leastLoaded}}, sizes: queensSizes, rounds: queensRounds, present: queens,
}

// queensProbe is a board that takes long enough to be measured, and queensRounds what a verdict
// takes: the rank test of 5 and 5 runs has p = 0.008 at best, enough for three comparisons.
const (
	queensProbe  = 14
	queensRounds = 5
)

// queensPublished are the seconds by N: normal, Tuna FIFO, Tuna RR, PI-Tool FIFO, PI-Tool RR.
var queensPublished = map[int][5]int{
	13: {57, 57, 57, 55, 55}, 14: {345, 336, 331, 333, 329},
	15: {2435, 2430, 2386, 2379, 2355}, 16: {18177, 17456, 16695, 17160, 16650},
}

// queensSizes are the boards, with tuna where there is time for it, and without least-loaded, which
// was not published, where there is not even time for that.
func queensSizes(m paper.Machine) (out []size) {
	all := []bench.Placement{bench.Normal, leastLoaded, pitonFIFO, pitonRR}
	for n := 16; n >= 8; n-- {
		_, published := queensPublished[n]
		s := size{published: published, ways: [][]cell{queensCells(m, n, all), queensCells(m, n, []bench.Placement{bench.Normal, pitonFIFO, pitonRR})}}
		if m.Tuna {
			s.ways = slices.Insert(s.ways, 0, queensCells(m, n, all, tunaPlacements(m)...))
		}
		out = append(out, s)
	}
	return out
}

func queensCells(m paper.Machine, n int, place []bench.Placement, byTuna ...bench.Placement) (out []cell) {
	for i, load := range loads {
		s := bench.Study{Args: args("-n", n, "--threads", 1), Noise: i * len(m.CPUs), Placements: place}
		cost := nqueenswork.Workload.Work(n) / nqueenswork.Workload.Work(queensProbe)
		out = append(out, cell{fmt.Sprintf("%d %s", n, load), s, cost})
		if s.Placements = byTuna; byTuna != nil {
			out = append(out, cell{fmt.Sprintf("%d %s %s", n, load, tunaKey), s, cost})
		}
	}
	return out
}

// tunaPlacements pin to the first CPU: tuna leaves the choice to its user.
func tunaPlacements(m paper.Machine) []bench.Placement {
	cpu := fmt.Sprintf("cpu:%d", m.CPUs[0])
	return []bench.Placement{bench.Placement(cpu + "+fifo:6"), bench.Placement(cpu + "+rr:6")}
}

// queensRow is one placement of the table and where its figures are.
type queensRow struct {
	name      string
	published int // in queensPublished, -1 = none
	cell      string
	placement bench.Placement
}

// queensRows are normal and the placements that are compared with it.
func queensRows(m paper.Machine) []queensRow {
	rows := []queensRow{{"normal", 0, "%d %s", bench.Normal}, {"piton FIFO", 3, "%d %s", pitonFIFO}, {"piton RR", 4, "%d %s", pitonRR}, {"piton least-loaded", -1, "%d %s", leastLoaded}}
	if m.Tuna {
		p := tunaPlacements(m)
		rows = append(rows, queensRow{"tuna FIFO", 1, "%d %s " + tunaKey, p[0]}, queensRow{"tuna RR", 2, "%d %s " + tunaKey, p[1]})
	}
	return rows
}

// loads end the keys of cells of an idle machine, and of one with a busy process for each CPU.
var loads = []string{"quiet", "noise"}

func queens(m paper.Machine, g *cells) report.Section {
	rows := queensRows(m)
	t := report.Table{Title: "Published and today", Keys: 2, Head: []string{"queens", "placement", "published", "saved", "today", "saved", "under load", "saved"}}
	var all, pinned [2][]finding // by loads; pinned with FIFO and RR
	var names, missed []string
	for n := 16; n >= 8; n-- {
		var found [2][]finding
		for i, load := range loads {
			found[i] = queensFound(rows, g, n, load)
			all[i], pinned[i] = append(all[i], found[i]...), append(found[i][1:3:3], pinned[i]...)
		}
		if g.measured("%d ", n) {
			names = append([]string{fmt.Sprint(n)}, names...)
		} else if _, ok := queensPublished[n]; ok {
			missed = append([]string{fmt.Sprint(n)}, missed...)
		}
		for k, row := range rows {
			took, then, _ := queensThen(n, row.published)
			line, measured := []string{fmt.Sprint(n), row.name, took, then}, false
			for i, saved := range []string{found[0][k].cell(), found[1][k].brief()} {
				a, ok := arm(g.of(row.cell, n, loads[i]), row.placement)
				line, measured = append(line, orNone(ok, chart.Quantity(a.Median, "s")), saved), measured || ok
			}
			if measured {
				t.Rows = append(t.Rows, line)
			}
		}
	}
	if len(missed) > 0 {
		g.notRun = []string{join(missed) + " queens"}
	}
	if !m.Tuna {
		g.notRun = append(g.notRun, "tuna, which is not installed")
	}
	return report.Section{Answer: queensAnswer(g, names, pinned), Tables: []report.Table{t}, Figures: []chart.Figure{
		effects("Time saved compared with normal", all[0], "slower", "faster"), effects("Time saved compared with normal, under load", all[1], "slower", "faster")}}
}

// queensThen is a published time, and in words and as a share what it saves of normal's; nil where
// there is none.
func queensThen(n, column int) (took, saved string, share *float64) {
	all, ok := queensPublished[n]
	if !ok || column < 0 {
		return bench.None, bench.None, nil
	}
	s := all[column]
	share = new(1 - float64(s)/float64(all[0]))
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60), orNone(column > 0, signed(*share)), share
}

func queensFound(rows []queensRow, g *cells, n int, load string) []finding {
	var pairs []pair
	for _, row := range rows {
		p := pair{mine: g.of(row.cell, n, load), label: fmt.Sprintf("%d queens, %s", n, row.name)}
		p.mine.Study.Placements = []bench.Placement{row.placement}
		if load == loads[0] { // published without load
			_, _, p.published = queensThen(n, row.published)
		}
		pairs = append(pairs, p)
	}
	return g.compareWithFirst(pairs)
}

// queensAnswer is about FIFO and RR, each of which was published; names are the boards measured.
func queensAnswer(g *cells, names []string, now [2][]finding) string {
	of := "13 to 16"
	if !are(now[0], missing) && slices.ContainsFunc(names, func(n string) bool { return n >= "13" && len(n) == 2 }) {
		of = join(names)
	}
	g.claim = fmt.Sprintf("Published: pinning with FIFO or RR saved %s for %s queens.", shares(published(now[0])), of)
	if len(names) == 0 {
		return ""
	}
	said, because := words{"saved", "lost"}, ""
	if are(now[1], better) {
		because = ", because FIFO and RR run before the load, which waits"
	}
	return fmt.Sprintf("%s: %s. Under load: %s%s.", g.today("quiet"), said.sum(now[0]), said.sum(now[1]), because)
}
