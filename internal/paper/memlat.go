package paper

import (
	"fmt"
	"slices"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	memlatwork "piton/workloads/memlat"
)

var memlat = Paper{
	Name: "memlat", Title: "Latency of caches and memory (LMbench)",
	Source: "Published by Yamada and Kusakabe: LMbench on Core 2 Duo at 1.86 GHz, Core Duo and Athlon 64 X2, in cycles.",
	claim:  "Published: a load from memory took 115 to 157 cycles, 50 to 58 times as long as one from L1.",
	weight: 0.7, probe: bench.Study{Args: args("--size", 2), Placements: []bench.Placement{leastLoaded}}, sizes: alternatives(len(memlatMiB), memlatCells), rounds: ownRounds, own: []string{"curve"}, present: memlatSection,
}

// memlatMiB are the largest sizes, 0 being four times the last-level cache, and
// their times with 2 MiB as one.
var memlatMiB = []struct {
	mib  int
	cost float64
}{{0, 4}, {64, 3}, {16, 2}, {4, 1.2}}

func memlatCells(m Machine, scale int) []cell {
	s := memlatMiB[scale]
	nodes := "local"
	if m.Nodes > 1 {
		nodes = "all"
	}
	return []cell{{"curve", bench.Study{Args: args("--size", s.mib, "--nodes", nodes), Placements: []bench.Placement{leastLoaded}}, s.cost * float64(max(m.Nodes, 1))}}
}

// memlatPublished are cycles by level: Core 2 Duo, Core Duo, Athlon 64 X2.
var memlatPublished = map[string][]string{"L1": {"3", "3", "2"}, "L2": {"14", "14", "12"}, "L3": {bench.None, bench.None, bench.None}, "memory": {"149", "157", "115"}}

func memlatSection(_ Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today, cycles", Head: []string{"level", "Core 2 Duo", "Core Duo", "Athlon 64 X2", "today", "today, ns", "up to"}}
	levels := map[string]memlatwork.Level{}
	if r, ok := last[memlatwork.Result](g.of("curve"), leastLoaded); ok && len(r.Curves) > 0 {
		for _, l := range r.Curves[0].Levels {
			levels[l.Name] = l
		}
	}
	for _, name := range []string{"L1", "L2", "L3", "memory"} {
		if l, ok := levels[name]; ok {
			t.Rows = append(t.Rows, slices.Concat([]string{name}, memlatPublished[name],
				[]string{orNone(l.Cycles > 0, l.Cycles, chart.Digits), chart.Digits(l.Ns), orNone(l.UpToBytes > 0, l.UpToBytes, memlatwork.Size)}))
		}
	}
	return report.Section{Answer: memlatAnswer(g, levels), Tables: []report.Table{t}}
}

// memlatAnswer is how far memory is from the first cache.
func memlatAnswer(g *cells, levels map[string]memlatwork.Level) string {
	first, memory := levels["L1"], levels["memory"]
	switch {
	case len(levels) == 0:
		return ""
	case memory.Ns == 0:
		return g.today() + ": memory was not reached."
	}
	took := chart.Quantity(memory.Ns/1e9, "s")
	if memory.Cycles > 0 {
		took = fmt.Sprintf("%s cycles (%s)", chart.Digits(memory.Cycles), took)
	}
	if first.Ns > 0 {
		took += fmt.Sprintf(", %.0f times as long as from L1", memory.Ns/first.Ns)
	}
	return fmt.Sprintf("%s: %s.", g.today(), took)
}
