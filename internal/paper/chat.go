package paper

import (
	"fmt"
	"slices"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	chatwork "piton/workloads/chat"
)

var chat = Paper{
	Name: "chat", Title: "Chat: threads of one address space run together",
	Source: "Published by Yamada and Kusakabe: Core 2 Duo at 1.86 GHz, 2 MB shared cache, Linux 2.6.17; 10 rooms of 20 members, 100-byte messages; figures at 2000 messages.",
	weight: 2, probe: bench.Study{Args: args("--rooms", 10, "--messages", 1)}, sizes: alternatives(len(chatMessages), chatCells), own: []string{"1 kernel"}, present: chatSection,
}

var chatMessages = []int{2000, 500, 100, 20, 5}

func chatCells(_ Machine, scale int) []cell {
	var out []cell
	n := chatMessages[scale]
	for _, pairs := range []int{1, 2} {
		for _, mapping := range chatwork.Mappings {
			out = append(out, cell{fmt.Sprintf("%d %s", pairs, mapping),
				bench.Study{Args: args("--rooms", 10, "--messages", n, "--pairs", pairs, "--mapping", mapping), Placements: onlyNormal}, float64(n)})
		}
	}
	return out
}

// chatPublished are millions of cycles and calls of schedule() by pairs and
// mapping: there the default, temporal and spatial aggregation.
var chatPublished = map[int]map[chatwork.Mapping][2]float64{
	1: {chatwork.ByKernel: {46494, 2418}, chatwork.Aggregate: {28601, 781}, chatwork.Pack: {18083, 539}},
	2: {chatwork.ByKernel: {45216, 4166}, chatwork.Aggregate: {30281, 763}, chatwork.Pair: {30328, 391}},
}

func chatSection(_ Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today", Keys: 2, Head: []string{"clients:servers", "mapping", "published, M cycles", "speed", "schedule()",
		"today, messages/s", "speed", "CPU time", "switches per message"}}
	s := report.Section{Notes: []string{"speed is relative to mapping kernel; the published one is by total cycles"}}
	var all []finding
	for _, pairs := range []int{1, 2} {
		name := fmt.Sprintf("%d:%d", pairs, pairs)
		var compared []pair // the first is the kernel's with itself
		for _, mapping := range chatwork.Mappings {
			_, then := chatThen(pairs, mapping)
			compared = append(compared, pair{g.of("%d %s", pairs, chatwork.ByKernel), g.of("%d %s", pairs, mapping), fmt.Sprintf("%s, %s", name, mapping), then})
		}
		others := g.compare(compared[1:])
		all = append(all, others...)
		for i, mapping := range chatwork.Mappings {
			mine, now := compared[i].mine, bench.None
			if i > 0 {
				now = others[i-1].cell()
			}
			then, _ := chatThen(pairs, mapping)
			if a, ok := arm(mine, ""); ok {
				t.Rows = append(t.Rows, slices.Concat([]string{name, string(mapping)}, then, []string{chart.Digits(a.Median), now}, chatCost(mine)))
			}
			if r, ok := last[chatwork.Result](mine, bench.Normal); ok && r.Why != "" {
				s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", mapping, r.Why))
			}
		}
	}
	reproduced := reproduced(all)
	g.claim = fmt.Sprintf("Published: running threads of one address space together gave %s more speed.", shares(published(reproduced)))
	if s.Tables = []report.Table{t}; len(t.Rows) == 0 {
		s.Notes = nil
		return s
	}
	s.Answer = fmt.Sprintf("%s: %s.", g.today(), words{"more messages/s", "fewer messages/s"}.sum(reproduced))
	s.Figures = []chart.Figure{effects("Messages/s compared with mapping kernel", all, "fewer", "more")}
	slices.Sort(s.Notes)
	s.Notes = slices.Compact(s.Notes)
	return s
}

// chatThen is what was published of a mapping, in a table's cells: its cycles, by which share they
// are fewer than the kernel's, which share is too, and its calls of schedule().
func chatThen(pairs int, mapping chatwork.Mapping) (cells []string, share *float64) {
	p, ok := chatPublished[pairs][mapping]
	if !ok {
		return []string{bench.None, bench.None, bench.None}, nil
	}
	speed := bench.None
	if mapping != chatwork.ByKernel {
		more := chatPublished[pairs][chatwork.ByKernel][0]/p[0] - 1
		share, speed = &more, signed(more)
	}
	return []string{fmt.Sprintf("%.0f", p[0]), speed, fmt.Sprintf("%.0f", p[1])}, share
}

// chatCost is the CPU time and the switches per message of the last run.
func chatCost(mine bench.Results) []string {
	r, ok := last[chatwork.Result](mine, bench.Normal)
	if !ok {
		return []string{bench.None, bench.None}
	}
	return []string{chart.Quantity(r.Sum.UserSeconds+r.Sum.SystemSeconds, "s"), chart.Digits(float64(r.Sum.Voluntary+r.Sum.Involuntary) / max(float64(r.Heard), 1))}
}
