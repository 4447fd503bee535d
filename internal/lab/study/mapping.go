package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	chatwork "piton/workloads/chat"
	stripiowork "piton/workloads/stripio"
)

// The studies that compare ways of mapping threads, each in a cell of its own.

var matrix = Paper{
	Name: "matrix", Title: "Matrix product: threads mapped manually or by the kernel",
	Source: "Published 2010: Core 2 Duo T5870 at 2 GHz and Core 2 Quad Q6600 at 2.4 GHz; each thread computes an equal share; manual mapping is round robin over the CPUs.",
	weight: 2, probe: bench.Study{Args: args("-n", matrixProbe, "--threads", 1)}, sizes: matrixGrid, present: matrixSection,
}

// matrixSizes are dimensions with the numbers of threads, those published first.
var matrixSizes = []struct {
	n         int
	threads   []int
	published bool
}{{1000, []int{500, 1000}, true}, {500, []int{100, 250, 500}, true}, {250, []int{100, 250}, false}, {200, []int{100, 200}, false}, {100, []int{50, 100}, false}}

const matrixProbe = 400

// The mappings, as the workload spells them.
const (
	manual   = "manual"
	byKernel = "kernel"
)

// matrixGrid is measured on all CPUs and, where there are more, the published two and four.
func matrixGrid(m paper.Machine) (out []size) {
	all := append(slices.DeleteFunc([]int{2, 4}, func(n int) bool { return n >= len(m.CPUs) }), len(m.CPUs))
	for _, dim := range matrixSizes {
		var cells []cell
		for _, cores := range all {
			place := onlyNormal
			if cores < len(m.CPUs) {
				place = []bench.Placement{bench.Placement("cpu:" + strings.Join(texts(m.CPUs[:cores]), ","))}
			}
			for _, threads := range dim.threads {
				for _, mapping := range []string{manual, byKernel} {
					cells = append(cells, cell{fmt.Sprintf("%d %d %d %s", cores, dim.n, threads, mapping),
						bench.Study{Args: args("-n", dim.n, "--threads", threads, "--mapping", mapping), Placements: place},
						math.Pow(float64(dim.n)/matrixProbe, 3.3) / float64(cores)})
				}
			}
		}
		out = append(out, size{published: dim.published, ways: [][]cell{cells}})
	}
	return out
}

// matrixRow is a row of the table, with the published seconds, 0 where it was not.
type matrixRow struct {
	cores, n, threads int
	manual, kernel    float64
}

var matrixPublished = []matrixRow{
	{2, 500, 100, 0.92, 1.08}, {2, 500, 250, 0.91, 1.11}, {2, 500, 500, 0.87, 1.12}, {2, 1000, 500, 9.88, 10.63}, {2, 1000, 1000, 9.68, 11.9},
	{4, 500, 100, 0.51, 0.75}, {4, 500, 250, 0.6, 1.79}, {4, 500, 500, 0.75, 1.85}, {4, 1000, 500, 3.86, 5.21}, {4, 1000, 1000, 4.45, 8.92},
}

// gain is by which share the kernel's time is longer than that of manual mapping: the measure
// of the study.
func (r matrixRow) gain() *float64 {
	if r.manual == 0 {
		return nil
	}
	return new(r.kernel/r.manual - 1)
}

// matrixRows are the published rows in their order, then others that were measured.
func matrixRows(g *cells) []matrixRow {
	out := slices.Clone(matrixPublished)
	for _, r := range matrixPublished {
		where := fmt.Sprintf("the rows of %d cores", r.cores)
		switch {
		case g.measured("%d %d %d ", r.cores, r.n, r.threads):
			continue
		case g.measured("%d %d ", r.cores, r.n):
			where = fmt.Sprintf("n %d with %d threads on %d cores", r.n, r.threads, r.cores)
		case g.measured("%d ", r.cores):
			where = fmt.Sprintf("n %d on %d cores", r.n, r.cores)
		}
		if !slices.Contains(g.notRun, where) {
			g.notRun = append(g.notRun, where)
		}
	}
	for _, key := range g.keys {
		var r matrixRow
		same := func(o matrixRow) bool { return o.cores == r.cores && o.n == r.n && o.threads == r.threads }
		if n, _ := fmt.Sscan(key, &r.cores, &r.n, &r.threads); n == 3 && g.measured("%d %d %d %s", r.cores, r.n, r.threads, manual) && !slices.ContainsFunc(out, same) {
			out = append(out, r)
		}
	}
	return out
}

func matrixSection(_ paper.Machine, g *cells) report.Section {
	rows := matrixRows(g)
	var pairs []pair
	for _, r := range rows {
		of := func(mapping string) bench.Results { return g.of("%d %d %d %s", r.cores, r.n, r.threads, mapping) }
		pairs = append(pairs, pair{of(byKernel), of(manual), fmt.Sprintf("%d cores, n %d, %d threads", r.cores, r.n, r.threads), r.gain()})
	}
	t := report.Table{Title: "Published and today", Keys: 3, Head: []string{"cores", "n", "threads", "2010: manual", "kernel", "gain", "today: manual", "kernel", "gain"}}
	all := g.compare(pairs)
	for i, r := range rows {
		if all[i] = all[i].gain(); all[i].kind != missing {
			known := r.gain() != nil
			t.Rows = append(t.Rows, slices.Concat(texts([]int{r.cores, r.n, r.threads}), []string{orNone(known, chart.Quantity(r.manual, "s")), orNone(known, chart.Quantity(r.kernel, "s")),
				orNone(known, signed(r.kernel/r.manual-1)), value(pairs[i].mine), value(pairs[i].base), all[i].cell()}))
		}
	}
	reproduced, others := all[:len(matrixPublished)], all[len(matrixPublished):]
	now, said := "", words{"gained", "lost"}
	g.claim = "Published: mapping threads manually gained " + shares(published(reproduced))
	if !are(reproduced, missing) {
		g.claim, now = g.claim+" in the rows measured here", ": "+said.sum(reproduced)
	}
	if len(others) > 0 {
		now += ", in rows that were not published: " + said.sum(others)
	}
	if g.claim += "."; now != "" {
		now = g.today() + now + "."
	}
	return report.Section{Answer: now, Tables: []report.Table{t}, Figures: []chart.Figure{effects("Gain of manual mapping", all, "loss", "gain")}}
}

// gain makes a share of time that was saved one by which the other time is longer.
func (f finding) gain() finding {
	for _, v := range []*float64{&f.Value, &f.Low, &f.High} {
		*v /= 1 - *v // the effect that would have shown is the same factor both ways
	}
	f.bound = max(f.bound, math.Abs(f.Low), math.Abs(f.High))
	return f
}

var chat = Paper{
	Name: "chat", Title: "Chat: threads of one address space run together",
	Source: "Published by Yamada and Kusakabe: Core 2 Duo at 1.86 GHz, 2 MB shared cache, Linux 2.6.17; 10 rooms of 20 members, 100-byte messages; figures at 2000 messages.",
	weight: 2, probe: bench.Study{Args: args("--rooms", 10, "--messages", 1)}, sizes: alternatives([]int{2000, 500, 100, 20, 5}, chatCells), own: []string{"1 kernel"}, present: chatSection,
}

func chatCells(_ paper.Machine, messages int) (out []cell) {
	for _, pairs := range []int{1, 2} {
		for _, mapping := range chatwork.Mappings {
			out = append(out, cell{fmt.Sprintf("%d %s", pairs, mapping),
				bench.Study{Args: args("--rooms", 10, "--messages", messages, "--pairs", pairs, "--mapping", mapping), Placements: onlyNormal}, float64(messages)})
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

func chatSection(_ paper.Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today", Keys: 2, Head: []string{"clients:servers", "mapping", "published, M cycles", "speed", "schedule()",
		"today, messages/s", "speed", "CPU time", "switches per message"}}
	s := report.Section{Notes: []string{"speed is relative to mapping kernel; the published one is by total cycles"}}
	var all []finding
	for _, pairs := range []int{1, 2} {
		var compared []pair
		for _, mapping := range chatwork.Mappings { // the kernel's first
			_, then := chatThen(pairs, mapping)
			compared = append(compared, pair{mine: g.of("%d %s", pairs, mapping), label: fmt.Sprintf("%d:%d, %s", pairs, pairs, mapping), published: then})
		}
		for i, f := range g.compareWithFirst(compared) {
			mapping, mine := chatwork.Mappings[i], compared[i].mine
			all = append(all, f)
			then, _ := chatThen(pairs, mapping)
			r, ok := last[chatwork.Result](mine, bench.Normal)
			if a, measured := arm(mine, ""); measured {
				switches := float64(r.Sum.Voluntary+r.Sum.Involuntary) / max(float64(r.Heard), 1)
				t.Rows = append(t.Rows, slices.Concat([]string{fmt.Sprintf("%d:%[1]d", pairs), string(mapping)}, then, []string{chart.Digits(a.Median), f.cell(),
					orNone(ok, chart.Quantity(r.Sum.UserSeconds+r.Sum.SystemSeconds, "s")), orNone(ok, chart.Digits(switches))}))
			}
			if ok && r.Why != "" {
				s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", mapping, r.Why))
			}
		}
	}
	g.claim = fmt.Sprintf("Published: running threads of one address space together gave %s more speed.", shares(published(all)))
	if s.Tables = []report.Table{t}; len(t.Rows) == 0 {
		s.Notes = nil
		return s
	}
	s.Answer = fmt.Sprintf("%s: %s.", g.today(), words{"more messages/s", "fewer messages/s"}.sum(reproduced(all)))
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
		share = new(chatPublished[pairs][chatwork.ByKernel][0]/p[0] - 1)
		speed = signed(*share)
	}
	return []string{fmt.Sprintf("%.0f", p[0]), speed, fmt.Sprintf("%.0f", p[1])}, share
}

var stripio = Paper{
	Name: "stripio", Title: "Strip I/O: source-aware interrupts",
	Source: "Published 2011, simulation on a RAM disk with 2 × quad Opteron 2384 at 2.7 GHz: two threads of one process (source-aware) against two processes; the peak was 3576.58 MB/s and 53.23 % more; from as many applications as cores on about 2500 MB/s both.",
	claim:  "Published: threads of one process read up to 53.2 % more than processes where there were fewer applications than cores, and no more from there on.",
	weight: 1.5, probe: bench.Study{Args: args("--size", 64)}, sizes: alternatives([]int{1024, 256, 64}, stripCells), own: []string{"1 threads"}, present: stripSection,
}

// stripApps are 1 to twice the CPUs, about eight of them.
func stripApps(m paper.Machine) (out []int) {
	n := min(2*len(m.CPUs), stripiowork.MaxApps)
	for apps := 1; apps <= n; apps += max(n/8, 1) {
		out = append(out, apps)
	}
	return out
}

func stripCells(m paper.Machine, mib int) (out []cell) {
	for _, apps := range stripApps(m) {
		for _, mode := range stripiowork.Modes {
			out = append(out, cell{fmt.Sprintf("%d %s", apps, mode), bench.Study{Args: args("--apps", apps, "--mode", mode, "--size", mib), Placements: onlyNormal},
				float64(mib) / 64 * max(1, 2*float64(apps)/float64(len(m.CPUs)))})
		}
	}
	return out
}

func stripSection(m paper.Machine, g *cells) report.Section {
	t := report.Table{Title: "Today", Head: []string{"applications", "threads", "CPU use", "processes", "CPU use", "gain of threads"}}
	var pairs []pair
	fewer, most := 0, 0.0 // how many pairs have fewer applications than cores
	for _, apps := range stripApps(m) {
		then := 0.0 // published from as many applications as cores on
		if apps < len(m.CPUs) {
			then, fewer = 0.5323, fewer+1 // at the peak
		}
		pairs = append(pairs, pair{g.of("%d %s", apps, stripiowork.Processes), g.of("%d %s", apps, stripiowork.Threads), chart.Plural(apps, "application"), &then})
	}
	all := g.compare(pairs)
	for i, f := range all {
		threads, processes := pairs[i].mine, pairs[i].base
		if a, ok := arm(threads, ""); ok {
			most = max(most, a.Median)
		}
		if f.kind != missing {
			t.Rows = append(t.Rows, []string{fmt.Sprint(stripApps(m)[i]), value(threads), stripUsed(threads), value(processes), stripUsed(processes), f.cell()})
		}
	}
	if len(t.Rows) == 0 {
		return report.Section{}
	}
	peak := report.Table{Title: "Published and today, at the peak", Head: []string{"", "published", "today"}, Rows: [][]string{
		{"threads", "3576.58 MB/s", chart.Quantity(most, "MB/s")}, {"CPUs used", "49.47 %", stripUsed(g.of("1 threads"))}, {"cache misses of L2", "−51.37 %", stripMissed(g)}}}
	said := words{"more", "less"}
	return report.Section{Answer: fmt.Sprintf("%s, with fewer: %s; from there on: %s.", g.today(), said.sum(all[:fewer]), said.sum(all[fewer:])),
		Tables: []report.Table{peak, t}, Figures: []chart.Figure{effects("Bandwidth of threads compared with processes", all, "less", "more")}}
}

func stripUsed(r bench.Results) string {
	used, ok := last[stripiowork.Result](r, bench.Normal)
	return orNone(ok, chart.Percent(used.CPUPercent/100))
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
