package paper

import (
	"fmt"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	ctxswitchwork "piton/workloads/ctxswitch"
)

var ctxswitch = Paper{
	Name: "ctxswitch", Title: "Context switches: timeslices and cost",
	Source: "Published in a course report (timeslices, i7-3610QM) and by Yamada and Kusakabe (LMbench lat_ctx in cycles: Core 2 Duo at 1.86 GHz, Core Duo, Athlon 64 X2).",
	claim:  "Published: two busy processes on one CPU had turns of 2.54 ms, and a switch took 1.77 µs (3298 cycles, Core 2 Duo).",
	weight: 0.7, probe: bench.Study{Args: args("--mode", "pipe", "--rounds", 2000)}, sizes: alternatives(len(switchScales), ctxswitchCells), own: []string{"turns", "pipe 0"}, present: ctxswitchSection,
}

var switchScales = []struct{ rounds, ms int }{{100_000, 2000}, {20_000, 500}, {2000, 100}}

// switchModes are the ways in which the processes wait for each other.
var switchModes = []string{"pipe", "futex"}

// footprints are KiB that a process touches at each switch.
var footprints = []int{0, 16, 64}

func ctxswitchCells(_ Machine, scale int) []cell {
	s := switchScales[scale]
	out := []cell{{"turns", bench.Study{Args: args("--mode", "turns", "--procs", 2, "--ms", s.ms), Placements: onlyNormal}, float64(s.ms) / 20}}
	for _, mode := range switchModes {
		for _, kib := range footprints {
			out = append(out, cell{fmt.Sprintf("%s %d", mode, kib), bench.Study{Args: args("--mode", mode, "--kib", kib, "--rounds", s.rounds), Placements: onlyNormal},
				float64(s.rounds) / 2000 * (1 + float64(kib)/16)})
		}
	}
	return out
}

// switchPublished are cycles by KiB: Core 2 Duo, Core Duo, Athlon 64 X2.
var switchPublished = map[int][3]string{0: {"3298", "1095", "2300"}, 16: {"5798", "3071", "3280"}, 64: {bench.None, bench.None, bench.None}}

func ctxswitchSection(_ Machine, g *cells) report.Section {
	if !g.measured("") {
		return report.Section{}
	}
	mean, hand, each, turns := bench.None, bench.None, bench.None, "turns were not measured"
	if r, ok := last[ctxswitchwork.Result](g.of("turns"), bench.Normal); ok && r.Turn != nil {
		mean = chart.Quantity(r.Turn.MeanTurnUs, "µs")
		hand = chart.Quantity(r.Turn.HandoverUs, "µs")
		each = chart.Digits(20 * float64(r.Turn.Turns) / max(r.Turn.WindowMs, 1))
		turns = "turns of " + mean
	}
	slices := report.Table{Title: "Timeslices of two busy processes on one CPU", Head: []string{"", "published", "today"},
		Rows: [][]string{{"timeslices in 20 ms", "about 10", each}, {"mean timeslice", "2.537 ms (called a switch there)", mean}, {"hand-over", bench.None, hand}}}
	t := report.Table{Title: "Context switch between two processes", Head: []string{"memory of each", "Core 2 Duo, cycles", "Core Duo", "Athlon 64 X2", "today by pipe", "today by futex"}}
	b := chart.Bars{Unit: "µs", Legend: switchModes}
	for _, kib := range footprints {
		if !g.measured("pipe %d", kib) && !g.measured("futex %d", kib) {
			continue
		}
		p := switchPublished[kib]
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%d KiB", kib), p[0], p[1], p[2], value(g.of("pipe %d", kib)), value(g.of("futex %d", kib))})
		for i, mode := range switchModes {
			if a, ok := arm(g.of("%s %d", mode, kib), ""); ok {
				b.Bars = append(b.Bars, chart.Bar{Label: fmt.Sprintf("%s, %d KiB", mode, kib), Value: a.Median, Low: a.Low, High: a.High, HaveInterval: a.HaveInterval, Colour: i})
			}
		}
	}
	took := func(mode string) string {
		if r := g.of("%s 0", mode); value(r) != bench.None {
			return value(r) + " by " + mode
		}
		return "was not measured by " + mode
	}
	return report.Section{Answer: fmt.Sprintf("%s: %s, and a switch takes %s and %s.", g.today(), turns, took(switchModes[0]), took(switchModes[1])),
		Tables: []report.Table{slices, t}, Figures: []chart.Figure{{Title: "Cost of a context switch", Plot: b}}}
}
