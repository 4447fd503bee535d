package paper

import (
	"fmt"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
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

// queensPublished are the seconds by N: normal, Tuna FIFO, Tuna RR, PI-Tool FIFO,
// PI-Tool RR.
var queensPublished = map[int][5]int{
	13: {57, 57, 57, 55, 55}, 14: {345, 336, 331, 333, 329},
	15: {2435, 2430, 2386, 2379, 2355}, 16: {18177, 17456, 16695, 17160, 16650},
}

// queensCost is the work by N, 13 being 1.
var queensCost = map[int]float64{8: 0.0003, 9: 0.0012, 10: 0.006, 11: 0.035, 12: 0.175, 13: 1, 14: 6.2, 15: 40.5, 16: 278}

// queensSizes are the boards, with tuna where there is time for it, and without least-loaded, which
// was not published, where there is not even time for that.
func queensSizes(m Machine) (out []size) {
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

func queensCells(m Machine, n int, place []bench.Placement, byTuna ...bench.Placement) (out []cell) {
	for i, load := range []string{"quiet", "noise"} {
		s := bench.Study{Args: args("-n", n, "--threads", 1), Noise: i * len(m.CPUs), Placements: place}
		cost := queensCost[n] / queensCost[queensProbe]
		out = append(out, cell{fmt.Sprintf("%d %s", n, load), s, cost})
		if s.Placements = byTuna; byTuna != nil {
			out = append(out, cell{fmt.Sprintf("%d %s %s", n, load, tunaKey), s, cost})
		}
	}
	return out
}

// tunaPlacements pin to the first CPU: tuna leaves the choice to its user.
func tunaPlacements(m Machine) []bench.Placement {
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

func queensRows(m Machine) []queensRow {
	rows := []queensRow{{"normal", 0, "%d %s", bench.Normal}}
	if m.Tuna {
		p := tunaPlacements(m)
		rows = append(rows, queensRow{"tuna FIFO", 1, "%d %s " + tunaKey, p[0]}, queensRow{"tuna RR", 2, "%d %s " + tunaKey, p[1]})
	} else {
		rows = append(rows, queensRow{"tuna FIFO", 1, "", ""}, queensRow{"tuna RR", 2, "", ""})
	}
	return append(rows, queensRow{"piton FIFO", 3, "%d %s", pitonFIFO}, queensRow{"piton RR", 4, "%d %s", pitonRR}, queensRow{"piton least-loaded", -1, "%d %s", leastLoaded})
}

// queensN are the boards published and measured.
func queensN(g *cells) []int {
	out := []int{13, 14, 15, 16}
	for n := 8; n <= 16; n++ {
		if len(g.of("%d quiet", n).Study.Placements) > 0 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func queens(m Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today", Keys: 3, Head: []string{"N", "solutions", "placement", "2014", "time saved", "today", "time saved", "under load", "time saved"}}
	largest := 0
	for _, n := range queensN(g) {
		solutions := bench.None
		if a, ok := arm(g.of("%d quiet", n), bench.Normal); ok && a.Runs > 0 {
			run, _ := g.of("%d quiet", n).Last(bench.Normal)
			solutions, largest = chart.Group(run.Answer), n
		}
		for _, row := range queensRows(m) {
			figures := slices.Concat(row.then(n), row.now(g, n, "quiet"), row.now(g, n, "noise"))
			if slices.ContainsFunc(figures, func(f string) bool { return f != bench.None }) {
				t.Rows = append(t.Rows, append([]string{fmt.Sprint(n), solutions, row.name}, figures...))
			}
		}
	}
	s := report.Section{Tables: []report.Table{t}, Notes: []string{"~ may be chance: not enough evidence of a difference (p ≥ 0.05)"}}
	if !m.Tuna {
		s.Notes = append(s.Notes, "tuna is not installed; only its published figures are shown")
	}
	for _, load := range []struct{ key, title string }{{"quiet", "on an idle machine"}, {"noise", "under background load"}} {
		s.Figures = append(s.Figures, queensBars(m, g, largest, load.key, load.title))
	}
	return s
}

// then is what was published, and the time saved against normal.
func (r queensRow) then(n int) []string {
	all, ok := queensPublished[n]
	if !ok || r.published < 0 {
		return []string{bench.None, bench.None}
	}
	seconds := all[r.published]
	d := time.Duration(seconds) * time.Second
	return []string{fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, seconds%60), saved(float64(seconds), float64(all[0]), r.published > 0)}
}

// saved is the share of base's time that a saves.
func saved(a, base float64, ok bool) string {
	if !ok || base == 0 {
		return bench.None
	}
	return signed(1 - a/base)
}

func (r queensRow) now(g *cells, n int, load string) []string {
	if r.cell == "" {
		return []string{bench.None, bench.None}
	}
	base, ok := arm(g.of("%d %s", n, load), bench.Normal)
	mine, have := arm(g.of(r.cell, n, load), r.placement)
	if !have {
		return []string{bench.None, bench.None}
	}
	share := saved(mine.Median, base.Median, ok && r.published != 0)
	if share != bench.None && !r.different(g, n, load) {
		share = "~ " + share
	}
	return []string{chart.Quantity(mine.Median, "s"), share}
}

// different reports whether there is evidence that the row differs from normal.
func (r queensRow) different(g *cells, n int, load string) bool {
	base, mine := g.of("%d %s", n, load), g.of(r.cell, n, load)
	base.Study.Placements, mine.Study.Placements = onlyNormal, []bench.Placement{r.placement}
	return bench.CompareAll([][2]bench.Results{{base, mine}})[0].Different
}

func queensBars(m Machine, g *cells, n int, load, title string) chart.Figure {
	b := chart.Bars{Unit: "s"}
	for i, row := range queensRows(m) {
		if row.cell == "" {
			continue
		}
		a, ok := arm(g.of(row.cell, n, load), row.placement)
		if !ok {
			continue
		}
		b.Bars = append(b.Bars, chart.Bar{Label: row.name, Value: a.Median, Low: a.Low, High: a.High, HaveInterval: a.HaveInterval, Colour: i})
	}
	return chart.Figure{Title: fmt.Sprintf("%d queens %s", n, title), Plot: b}
}
