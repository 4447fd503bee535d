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

func matrixCores(m Machine) []int {
	return append(slices.DeleteFunc([]int{2, 4}, func(n int) bool { return n >= len(m.CPUs) }), len(m.CPUs))
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
	share := r.kernel/r.manual - 1
	return &share
}

// matrixRows are the published rows in their order, then others that were measured.
func matrixRows(g *cells) []matrixRow {
	out := slices.Clone(matrixPublished)
	for _, r := range matrixPublished {
		if g.measured("%d %d %d ", r.cores, r.n, r.threads) {
			continue
		}
		where := fmt.Sprintf("the rows of %d cores", r.cores)
		switch {
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

func matrixSection(_ Machine, g *cells) report.Section {
	rows := matrixRows(g)
	var pairs []pair
	for _, r := range rows {
		of := func(mapping string) bench.Results { return g.of("%d %d %d %s", r.cores, r.n, r.threads, mapping) }
		pairs = append(pairs, pair{of(byKernel), of(manual), fmt.Sprintf("%d cores, n %d, %d threads", r.cores, r.n, r.threads), r.gain()})
	}
	t := report.Table{Title: "Published and today", Keys: 3, Head: []string{"cores", "n", "threads", "2010: manual", "kernel", "gain", "today: manual", "kernel", "gain"}}
	all := g.compare(pairs)
	for i, r := range rows {
		then := []string{bench.None, bench.None, bench.None}
		if share := r.gain(); share != nil {
			then = []string{chart.Quantity(r.manual, "s"), chart.Quantity(r.kernel, "s"), signed(*share)}
		}
		if all[i] = all[i].gain(); all[i].kind != missing {
			t.Rows = append(t.Rows, slices.Concat([]string{fmt.Sprint(r.cores), fmt.Sprint(r.n), fmt.Sprint(r.threads)}, then, []string{value(pairs[i].mine), value(pairs[i].base), all[i].cell()}))
		}
	}
	return report.Section{Answer: matrixAnswer(g, all[:len(matrixPublished)], all[len(matrixPublished):]), Tables: []report.Table{t},
		Figures: []chart.Figure{effects("Gain of manual mapping", all, "loss", "gain")}}
}

func matrixAnswer(g *cells, reproduced, others []finding) (now string) {
	g.claim, now = "Published: mapping threads manually gained "+shares(published(reproduced)), ""
	said := words{"gained", "lost"}
	if !are(reproduced, missing) {
		g.claim, now = g.claim+" in the rows measured here", ": "+said.sum(reproduced)
	}
	if len(others) > 0 {
		now += ", in rows that were not published: " + said.sum(others)
	}
	if g.claim += "."; now != "" {
		now = g.today() + now + "."
	}
	return now
}

// gain makes a share of time that was saved one by which the other time is longer.
func (f finding) gain() finding {
	for _, v := range []*float64{&f.Value, &f.Low, &f.High} {
		*v /= 1 - *v // the effect that would have shown is the same factor both ways
	}
	f.bound = max(f.bound, math.Abs(f.Low), math.Abs(f.High))
	return f
}
