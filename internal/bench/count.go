package bench

import (
	"fmt"
	"slices"

	"piton/internal/chart"
	"piton/internal/kernel"
)

// Count is what one performance counter counted in a run.
type Count struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Share is the part of the time that it counted in, where more counters were
	// wanted than the PMU has; Value is scaled up by it. 1 is all of the time.
	Share float64 `json:"share"`
}

// Derived are the metrics that counters give together, as PerfSuite's psprocess
// prints them; those whose counters are missing are left out.
func Derived(counts []Count) (out []Count) {
	value := map[string]Count{}
	for _, c := range counts {
		value[c.Name] = c
	}
	ratio := func(name, part, whole string) {
		a, haveA := value[part]
		b, haveB := value[whole]
		if haveA && haveB && b.Value > 0 {
			out = append(out, Count{Name: name, Value: a.Value / b.Value, Share: min(a.Share, b.Share)})
		}
	}
	ratio("instructions_per_cycle", kernel.Instructions.Name, kernel.Cycles.Name)
	ratio("branch_miss_rate", kernel.BranchMisses.Name, kernel.Branches.Name)
	ratio("cache_miss_rate", kernel.CacheMisses.Name, kernel.CacheReferences.Name)
	return out
}

// medianCounts are the medians of the counters over the valid runs, and of what
// they give together.
func medianCounts(runs []RunResult) (out []Count) {
	values := map[string][]float64{}
	for _, run := range runs {
		if !run.Valid() {
			continue
		}
		for _, c := range slices.Concat(run.Counts, Derived(run.Counts)) {
			i := slices.IndexFunc(out, func(o Count) bool { return o.Name == c.Name })
			if i < 0 {
				i, out = len(out), append(out, c)
			}
			out[i].Share = min(out[i].Share, c.Share)
			values[c.Name] = append(values[c.Name], c.Value)
		}
	}
	for i := range out {
		out[i].Value = chart.Middle(values[out[i].Name])
	}
	return out
}

// countWarnings says once why counters are missing, and which of them were scaled.
func countWarnings(runs []RunResult) (out []string) {
	scaled := map[string]bool{}
	for _, run := range runs {
		if run.NoCounts != "" && !slices.Contains(out, run.NoCounts) {
			out = append(out, run.NoCounts)
		}
		for _, c := range run.Counts {
			if c.Share < 0.999 && !scaled[c.Name] { // the kernel's two clocks differ a little
				scaled[c.Name] = true
				out = append(out, fmt.Sprintf("%s counted %s of the time and scaled up (too few PMU counters)", c.Name, chart.Percent(c.Share)))
			}
		}
	}
	return out
}
