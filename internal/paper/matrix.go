package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
)

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

// matrixProbe takes long enough to be measured.
const matrixProbe = 400

// The mappings, as the workload spells them.
const (
	manual   = "manual"
	byKernel = "kernel"
)

// matrixGrid is measured on all CPUs and, where there are more, the published two and four.
func matrixGrid(m Machine) (out []size) {
	for _, dim := range matrixSizes {
		var cells []cell
		for _, cores := range matrixCores(m) {
			place := onlyNormal
			if cores < len(m.CPUs) {
				place = []bench.Placement{bench.Placement("cpu:" + cpuList(m.CPUs[:cores]))}
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

func matrixCores(m Machine) []int {
	var out []int
	for _, n := range []int{2, 4} {
		if n < len(m.CPUs) {
			out = append(out, n)
		}
	}
	return append(out, len(m.CPUs))
}

func cpuList(cpus []int) string {
	var words []string
	for _, c := range cpus {
		words = append(words, fmt.Sprint(c))
	}
	return strings.Join(words, ",")
}

// matrixPublished are manual and kernel seconds by cores, n and threads.
var matrixPublished = map[[3]int][2]float64{
	{2, 500, 100}: {0.92, 1.08}, {2, 500, 250}: {0.91, 1.11}, {2, 500, 500}: {0.87, 1.12}, {2, 1000, 500}: {9.88, 10.63}, {2, 1000, 1000}: {9.68, 11.9},
	{4, 500, 100}: {0.51, 0.75}, {4, 500, 250}: {0.6, 1.79}, {4, 500, 500}: {0.75, 1.85}, {4, 1000, 500}: {3.86, 5.21}, {4, 1000, 1000}: {4.45, 8.92},
}

// matrixOrder are the published rows in their order.
var matrixOrder = [][3]int{{2, 500, 100}, {2, 500, 250}, {2, 500, 500}, {2, 1000, 500}, {2, 1000, 1000},
	{4, 500, 100}, {4, 500, 250}, {4, 500, 500}, {4, 1000, 500}, {4, 1000, 1000}}

// matrixGain is by which share the kernel's time is longer than that of manual mapping: the measure
// of the study.
func matrixGain(p [2]float64) *float64 {
	share := p[1]/p[0] - 1
	return &share
}

// matrixRows are the published rows in their order, then others that were measured.
func matrixRows(g *cells) (out [][3]int) {
	for _, row := range matrixOrder {
		out = append(out, row)
		if g.measured("%d %d %d ", row[0], row[1], row[2]) {
			continue
		}
		where := fmt.Sprintf("the rows of %d cores", row[0])
		switch {
		case g.measured("%d %d ", row[0], row[1]):
			where = fmt.Sprintf("n %d with %d threads on %d cores", row[1], row[2], row[0])
		case g.measured("%d ", row[0]):
			where = fmt.Sprintf("n %d on %d cores", row[1], row[0])
		}
		if !slices.Contains(g.notRun, where) {
			g.notRun = append(g.notRun, where)
		}
	}
	for _, key := range g.keys {
		var row [3]int
		if n, _ := fmt.Sscan(key, &row[0], &row[1], &row[2]); n == 3 && g.measured("%d %d %d %s", row[0], row[1], row[2], manual) && !slices.Contains(out, row) {
			out = append(out, row)
		}
	}
	return out
}

func matrixSection(_ Machine, g *cells) report.Section {
	rows := matrixRows(g)
	var pairs [][2]bench.Results
	for _, r := range rows {
		pairs = append(pairs, [2]bench.Results{g.of("%d %d %d %s", r[0], r[1], r[2], byKernel), g.of("%d %d %d %s", r[0], r[1], r[2], manual)})
	}
	t := report.Table{Title: "Published and today", Keys: 3, Head: []string{"cores", "n", "threads", "2010: manual", "kernel", "gain", "today: manual", "kernel", "gain"}}
	var reproduced, others []finding
	for i, c := range bench.CompareAll(pairs) {
		r, then := rows[i], []string{bench.None, bench.None, bench.None}
		f := found(c, fmt.Sprintf("%d cores, n %d, %d threads", r[0], r[1], r[2]), nil).gain()
		if p, ok := matrixPublished[r]; ok {
			f.Published = matrixGain(p)
			then = []string{chart.Quantity(p[0], "s"), chart.Quantity(p[1], "s"), signed(*f.Published)}
			reproduced = append(reproduced, f)
		} else {
			others = append(others, f)
		}
		if f.kind == missing {
			continue
		}
		t.Rows = append(t.Rows, slices.Concat([]string{fmt.Sprint(r[0]), fmt.Sprint(r[1]), fmt.Sprint(r[2])}, then, []string{value(pairs[i][1]), value(pairs[i][0]), f.cell()}))
	}
	return report.Section{Answer: matrixAnswer(g, reproduced, others), Tables: []report.Table{t},
		Figures: []chart.Figure{effects("Gain of manual mapping", append(reproduced, others...), "loss", "gain")}}
}

func matrixAnswer(g *cells, reproduced, others []finding) string {
	text, now, said := "Published: mapping threads manually gained "+shares(published(reproduced)), "", words{"gained", "lost"}
	if !are(reproduced, missing) {
		text, now = text+" in the rows measured here", ": "+said.sum(reproduced)
	}
	if len(others) > 0 {
		now += ", in rows that were not published: " + said.sum(others)
	}
	if now == "" {
		return text + ". " + notMeasured
	}
	return fmt.Sprintf("%s. %s%s.", text, g.today(), now)
}

// gain makes a share of time that was saved one by which the other time is longer.
func (f finding) gain() finding {
	for _, v := range []*float64{&f.Value, &f.Low, &f.High} {
		*v /= 1 - *v // the effect that would have shown is the same factor both ways
	}
	f.bound = max(f.bound, math.Abs(f.Low), math.Abs(f.High))
	return f
}
