package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	activitywork "piton/workloads/activity"
	ctxswitchwork "piton/workloads/ctxswitch"
	memlatwork "piton/workloads/memlat"
	streamwork "piton/workloads/stream"
)

// The studies that measure the machine: what one run of a cell says stands beside what was published.

var stream = Paper{
	Name: "stream", Title: "Memory bandwidth from each CPU to each node (STREAM)",
	Source: "Published in a course report: 4 × AMD Opteron 6348 at 2.8 GHz, nodes 0, 2, 4 and 6, all at distance 16 from each other; memory of node 0, used from CPUs of each node.",
	claim:  "Published: at equal distances triad's bandwidth differed by 41 % (3014 to 4236 MB/s), so distances did not predict it.",
	weight: 1.5, probe: bench.Study{Args: args("--size", 16, "--reps", 2)}, sizes: alternatives([]streamScale{{0, 10}, {0, 4}, {64, 3}, {16, 3}}, streamCells), rounds: ownRounds, own: []string{"grid"}, present: streamSection,
}

// streamScale is MiB of an array, 0 being four times the last-level cache, and repetitions.
type streamScale struct{ mib, reps int }

func streamCells(m paper.Machine, s streamScale) []cell {
	grid, places := "nodes", m.Nodes
	if m.Nodes*len(m.CPUs) <= 64 {
		grid, places = "cpus", len(m.CPUs)
	}
	mib := cmp.Or(s.mib, 256) // about what four times a last-level cache is
	return []cell{{"grid", bench.Study{Args: args("--size", s.mib, "--reps", s.reps, "--matrix", grid), Placements: onlyNormal},
		float64(mib) / 16 * float64(s.reps) / 2 * float64(places*max(m.Nodes, 1))}}
}

var streamPublished = [][]string{
	{"then", "CPU 0", "0", "node 0", "10", "5842", "5819", "6560", "6540"}, {"then", "CPU 2", "0", "node 0", "10", "5854", "5785", "6430", "6539"},
	{"then", "CPU 14", "2", "node 0", "16", "2971", "2971", "3015", "3014"}, {"then", "CPU 15", "2", "node 0", "16", "2974", "2972", "3017", "3017"},
	{"then", "CPU 25", "4", "node 0", "16", "3695", "3697", "3939", "3947"}, {"then", "CPU 26", "4", "node 0", "16", "3687", "3692", "3934", "3952"},
	{"then", "CPU 37", "6", "node 0", "16", "4005", "4011", "4228", "4236"}, {"then", "CPU 38", "6", "node 0", "16", "3909", "3945", "4137", "4159"},
}

func streamSection(_ paper.Machine, g *cells) report.Section {
	r, ok := last[streamwork.Result](g.of("grid"), bench.Normal)
	if !ok || len(r.Cells) == 0 {
		return report.Section{}
	}
	t := report.Table{Title: "Published and today, MB/s", Rows: slices.Clone(streamPublished),
		Head: []string{"when", "from", "node", "memory of", "distance", "copy", "scale", "add", "triad"}}
	nodes, slow, fast := map[int]bool{}, math.Inf(1), 0.
	for _, c := range r.Cells {
		nodes[c.MemoryNode], slow, fast = true, min(slow, c.Triad()), max(fast, c.Triad())
		from := fmt.Sprintf("CPU %d", c.FromCPU)
		if c.FromCPU < 0 {
			from = "all CPUs"
		}
		line := []string{"today", from, fmt.Sprint(c.FromNode), fmt.Sprintf("node %d", c.MemoryNode), fmt.Sprint(c.Distance)}
		for _, op := range c.Ops {
			line = append(line, chart.Digits(op.MedianMBs))
		}
		if len(line) == len(t.Head) {
			t.Rows = append(t.Rows, line)
		}
	}
	found := "distances were not compared" // whether the firmware's predict triad's bandwidth
	if len(nodes) == 1 {
		found = fmt.Sprintf("one node, so there are no distances to compare; triad reaches %s to %s MB/s", chart.Digits(slow), chart.Digits(fast))
	} else if r.Fit != nil {
		found = r.Fit.Verdict
	}
	return report.Section{Answer: fmt.Sprintf("%s: %s.", g.today(), found), Tables: []report.Table{t}}
}

var activity = Paper{
	Name: "activity", Title: "CPU time lost to others (activity tracker)",
	Source: "Published in a course report: Intel Core i7-3610QM at 2.3 GHz, pinned to CPU 0, 84 ms observed.",
	claim:  "Published: 0.225 % of a CPU's time was lost to others, every 2.89 ms.",
	weight: 0.7, probe: bench.Study{Args: args("--ms", 100), Placements: onlyLeastLoaded}, sizes: alternatives([]int{5000, 1000, 200}, activityCells), rounds: ownRounds, own: loads, present: activitySection,
}

func activityCells(m paper.Machine, ms int) (out []cell) {
	for i, load := range loads {
		s := bench.Study{Args: args("--ms", ms), Placements: onlyLeastLoaded, Noise: i * len(m.CPUs)}
		// Under load twice as long, halved: what is timed here does not slow down.
		out = append(out, cell{load, s, float64(ms) / 100 / float64(1+i)})
	}
	return out
}

func activitySection(_ paper.Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today", Head: []string{"", "published", "today", "under load"}, Rows: [][]string{
		{"counter frequency", "2294 MHz"}, {"inactive threshold", "2500 cycles"}, {"observed", "84.064 ms"}, {"inactive", "0.189 ms"},
		{"inactive share", "0.225 % (0.023 % stated)"}, {"mean active period", "2.892 ms"}, {"longest inactive", bench.None}, {"ticks", bench.None}}}
	var lost []string // by loads
	measured := false
	for _, load := range loads {
		r, ok := last[activitywork.Result](g.of("%s", load), leastLoaded)
		said, ticks, figures := "not measured", "no period found", slices.Repeat([]string{bench.None}, len(t.Rows))
		if r.Tick.Found {
			ticks = chart.Quantity(r.Tick.Hz, "Hz")
		}
		if ok {
			measured, said = true, fmt.Sprintf("%s, every %s", chart.Percent(r.Share), chart.Quantity(r.MeanActiveNs/1e9, "s"))
			figures = []string{fmt.Sprintf("%.1f MHz", r.CounterHz/1e6), chart.Digits(r.ThresholdNs*r.CounterHz/1e9) + " cycles",
				chart.Quantity(r.Observed, "s"), chart.Quantity(r.Lost, "s"), chart.Percent(r.Share), chart.Quantity(r.MeanActiveNs, "ns"),
				chart.Quantity(r.LongestNs, "ns"), ticks}
		}
		lost = append(lost, said)
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], figures[i])
		}
	}
	if !measured {
		return report.Section{}
	}
	return report.Section{Answer: fmt.Sprintf("%s: %s. Under load: %s.", g.today("quiet"), lost[0], lost[1]), Tables: []report.Table{t}}
}

var ctxswitch = Paper{
	Name: "ctxswitch", Title: "Context switches: timeslices and cost",
	Source: "Published in a course report (timeslices, i7-3610QM) and by Yamada and Kusakabe (LMbench lat_ctx in cycles: Core 2 Duo at 1.86 GHz, Core Duo, Athlon 64 X2).",
	claim:  "Published: two busy processes on one CPU had turns of 2.54 ms, and a switch took 1.77 µs (3298 cycles, Core 2 Duo).",
	weight: 0.7, probe: bench.Study{Args: args("--mode", "pipe", "--rounds", 2000)}, sizes: alternatives([]switchScale{{100_000, 2000}, {20_000, 500}, {2000, 100}}, ctxswitchCells), own: []string{"turns", "pipe 0"}, present: ctxswitchSection,
}

type switchScale struct{ rounds, ms int }

// switchModes are the ways in which the processes wait for each other.
var switchModes = []string{"pipe", "futex"}

// footprints are KiB that a process touches at each switch, with the published cycles.
var footprints = []struct {
	kib  int
	then []string // Core 2 Duo, Core Duo, Athlon 64 X2
}{{0, []string{"3298", "1095", "2300"}}, {16, []string{"5798", "3071", "3280"}}, {64, []string{bench.None, bench.None, bench.None}}}

func ctxswitchCells(_ paper.Machine, s switchScale) []cell {
	out := []cell{{"turns", bench.Study{Args: args("--mode", "turns", "--procs", 2, "--ms", s.ms), Placements: onlyNormal}, float64(s.ms) / 20}}
	for _, mode := range switchModes {
		for _, f := range footprints {
			out = append(out, cell{fmt.Sprintf("%s %d", mode, f.kib), bench.Study{Args: args("--mode", mode, "--kib", f.kib, "--rounds", s.rounds), Placements: onlyNormal},
				float64(s.rounds) / 2000 * (1 + float64(f.kib)/16)})
		}
	}
	return out
}

func ctxswitchSection(_ paper.Machine, g *cells) report.Section {
	if !g.measured("") {
		return report.Section{}
	}
	mean, hand, each, turns := bench.None, bench.None, bench.None, "turns were not measured"
	if r, ok := last[ctxswitchwork.Result](g.of("turns"), bench.Normal); ok && r.Turn != nil {
		mean, hand = chart.Quantity(r.Turn.MeanTurnUs, "µs"), chart.Quantity(r.Turn.HandoverUs, "µs")
		each, turns = chart.Digits(20*float64(r.Turn.Turns)/max(r.Turn.WindowMs, 1)), "turns of "+mean
	}
	turned := report.Table{Title: "Timeslices of two busy processes on one CPU", Head: []string{"", "published", "today"},
		Rows: [][]string{{"timeslices in 20 ms", "about 10", each}, {"mean timeslice", "2.537 ms (called a switch there)", mean}, {"hand-over", bench.None, hand}}}
	t := report.Table{Title: "Context switch between two processes", Head: []string{"memory of each", "Core 2 Duo, cycles", "Core Duo", "Athlon 64 X2", "today by pipe", "today by futex"}}
	b := chart.Bars{Unit: "µs", Legend: switchModes}
	for _, f := range footprints {
		line := slices.Concat([]string{fmt.Sprintf("%d KiB", f.kib)}, f.then)
		for i, mode := range switchModes {
			line = append(line, value(g.of("%s %d", mode, f.kib)))
			if a, ok := arm(g.of("%s %d", mode, f.kib), ""); ok {
				b.Bars = append(b.Bars, chart.Bar{Label: fmt.Sprintf("%s, %d KiB", mode, f.kib), Value: a.Median, Low: a.Low, High: a.High, HaveInterval: a.HaveInterval, Colour: i})
			}
		}
		if g.measured("pipe %d", f.kib) || g.measured("futex %d", f.kib) {
			t.Rows = append(t.Rows, line)
		}
	}
	took := func(mode string) string {
		if r := g.of("%s 0", mode); value(r) != bench.None {
			return value(r) + " by " + mode
		}
		return "was not measured by " + mode
	}
	return report.Section{Answer: fmt.Sprintf("%s: %s, and a switch takes %s and %s.", g.today(), turns, took(switchModes[0]), took(switchModes[1])),
		Tables: []report.Table{turned, t}, Figures: []chart.Figure{{Title: "Cost of a context switch", Plot: b}}}
}

var memlat = Paper{
	Name: "memlat", Title: "Latency of caches and memory (LMbench)",
	Source: "Published by Yamada and Kusakabe: LMbench on Core 2 Duo at 1.86 GHz, Core Duo and Athlon 64 X2, in cycles.",
	claim:  "Published: a load from memory took 115 to 157 cycles, 50 to 58 times as long as one from L1.",
	weight: 0.7, probe: bench.Study{Args: args("--size", 2), Placements: onlyLeastLoaded}, sizes: alternatives([]memlatScale{{0, 4}, {64, 3}, {16, 2}, {4, 1.2}}, memlatCells), rounds: ownRounds, own: []string{"curve"}, present: memlatSection,
}

// memlatScale is the largest size, 0 being four times the last-level cache, and its time with that
// of 2 MiB as one.
type memlatScale struct {
	mib  int
	cost float64
}

func memlatCells(m paper.Machine, s memlatScale) []cell {
	nodes := "local"
	if m.Nodes > 1 {
		nodes = "all"
	}
	return []cell{{"curve", bench.Study{Args: args("--size", s.mib, "--nodes", nodes), Placements: onlyLeastLoaded}, s.cost * float64(max(m.Nodes, 1))}}
}

// memlatPublished are cycles by level: Core 2 Duo, Core Duo, Athlon 64 X2.
var memlatPublished = [][]string{{"L1", "3", "3", "2"}, {"L2", "14", "14", "12"}, {"L3", bench.None, bench.None, bench.None}, {"memory", "149", "157", "115"}}

func memlatSection(_ paper.Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today, cycles", Head: []string{"level", "Core 2 Duo", "Core Duo", "Athlon 64 X2", "today", "today, ns", "up to"}}
	levels := map[string]memlatwork.Level{}
	if r, ok := last[memlatwork.Result](g.of("curve"), leastLoaded); ok && len(r.Curves) > 0 {
		for _, l := range r.Curves[0].Levels {
			levels[l.Name] = l
		}
	}
	for _, then := range memlatPublished {
		if l, ok := levels[then[0]]; ok {
			t.Rows = append(t.Rows, slices.Concat(then, []string{orNone(l.Cycles > 0, chart.Digits(l.Cycles)), chart.Digits(l.Ns),
				orNone(l.UpToBytes > 0, memlatwork.Size(l.UpToBytes))}))
		}
	}
	s := report.Section{Tables: []report.Table{t}}
	first, memory := levels["L1"], levels["memory"]
	switch took := chart.Quantity(memory.Ns/1e9, "s"); { // how far memory is from the first cache
	case len(levels) == 0:
	case memory.Ns == 0:
		s.Answer = g.today() + ": memory was not reached."
	default:
		if memory.Cycles > 0 {
			took = fmt.Sprintf("%s cycles (%s)", chart.Digits(memory.Cycles), took)
		}
		if first.Ns > 0 {
			took += fmt.Sprintf(", %.0f times as long as from L1", memory.Ns/first.Ns)
		}
		s.Answer = fmt.Sprintf("%s: %s.", g.today(), took)
	}
	return s
}
