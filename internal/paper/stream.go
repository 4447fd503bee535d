package paper

import (
	"fmt"
	"math"
	"slices"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	streamwork "piton/workloads/stream"
)

var stream = Paper{
	Name: "stream", Title: "Memory bandwidth from each CPU to each node (STREAM)",
	Source: "Published in a course report: 4 × AMD Opteron 6348 at 2.8 GHz, nodes 0, 2, 4 and 6, all at distance 16 from each other; memory of node 0, used from CPUs of each node.",
	weight: 1.5, probe: bench.Study{Args: args("--size", 16, "--reps", 2)}, sizes: alternatives(len(streamScales), streamCells), rounds: ownRounds, own: []string{"grid"}, present: streamSection,
}

// streamScales are MiB of an array, 0 being four times the last-level cache, and
// repetitions.
var streamScales = []struct{ mib, reps int }{{0, 10}, {0, 4}, {64, 3}, {16, 3}}

// autoMiB is about what four times a last-level cache is.
const autoMiB = 256.0

func streamCells(m Machine, scale int) []cell {
	s := streamScales[scale]
	grid, places := "nodes", m.Nodes
	if m.Nodes*len(m.CPUs) <= 64 {
		grid, places = "cpus", len(m.CPUs)
	}
	mib := float64(s.mib)
	if s.mib == 0 {
		mib = autoMiB
	}
	return []cell{{"grid", bench.Study{Args: args("--size", s.mib, "--reps", s.reps, "--matrix", grid), Placements: onlyNormal},
		mib / 16 * float64(s.reps) / 2 * float64(places*max(m.Nodes, 1))}}
}

// streamPublished are MB/s: CPU, its node, copy, scale, add, triad.
var streamPublished = [][6]int{{0, 0, 5842, 5819, 6560, 6540}, {2, 0, 5854, 5785, 6430, 6539}, {14, 2, 2971, 2971, 3015, 3014}, {15, 2, 2974, 2972, 3017, 3017},
	{25, 4, 3695, 3697, 3939, 3947}, {26, 4, 3687, 3692, 3934, 3952}, {37, 6, 4005, 4011, 4228, 4236}, {38, 6, 3909, 3945, 4137, 4159}}

func streamSection(_ Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today, MB/s", Head: []string{"when", "from", "node", "memory of", "distance", "copy", "scale", "add", "triad"}}
	low, high := math.Inf(1), 0.
	for _, p := range streamPublished {
		distance := 10
		if p[1] != 0 { // all others are at the same distance
			distance, low, high = 16, min(low, float64(p[5])), max(high, float64(p[5]))
		}
		t.Rows = append(t.Rows, slices.Concat([]string{"then", fmt.Sprintf("CPU %d", p[0]), fmt.Sprint(p[1]), "node 0", fmt.Sprint(distance)}, texts(p[2:])))
	}
	g.claim = fmt.Sprintf("Published: at equal distances triad's bandwidth differed by %s (%.0f to %.0f MB/s), so distances did not predict it.", chart.Percent(high/low-1), low, high)
	r, ok := last[streamwork.Result](g.of("grid"), bench.Normal)
	if !ok {
		return report.Section{}
	}
	for _, c := range r.Cells {
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
	return report.Section{Answer: streamAnswer(g, r), Tables: []report.Table{t}}
}

// streamAnswer is whether the firmware's distances predict triad's bandwidth.
func streamAnswer(g *cells, r streamwork.Result) string {
	nodes, slow, fast := map[int]bool{}, math.Inf(1), 0.
	for _, c := range r.Cells {
		nodes[c.MemoryNode] = true
		slow, fast = min(slow, c.Triad()), max(fast, c.Triad())
	}
	now := "distances were not compared"
	switch {
	case len(r.Cells) == 0:
		return ""
	case len(nodes) == 1:
		now = fmt.Sprintf("one node, so there are no distances to compare; triad reaches %s to %s MB/s", chart.Digits(slow), chart.Digits(fast))
	case r.Fit != nil:
		now = r.Fit.Verdict
	}
	return fmt.Sprintf("%s: %s.", g.today(), now)
}
