package paper

import (
	"fmt"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	activitywork "piton/workloads/activity"
)

var activity = Paper{
	Name: "activity", Title: "CPU time lost to others (activity tracker)",
	Source: "Published in a course report: Intel Core i7-3610QM at 2.3 GHz, pinned to CPU 0, 84 ms observed.",
	claim:  "Published: 0.225 % of a CPU's time was lost to others, every 2.89 ms.",
	weight: 0.7, probe: bench.Study{Args: args("--ms", 100), Placements: []bench.Placement{leastLoaded}}, sizes: alternatives(len(activityMs), activityCells), rounds: ownRounds, own: []string{"quiet", "noise"}, present: activitySection,
}

var activityMs = []int{5000, 1000, 200}

func activityCells(m Machine, scale int) []cell {
	ms := activityMs[scale]
	s := bench.Study{Args: args("--ms", ms), Placements: []bench.Placement{leastLoaded}}
	under := s
	under.Noise = len(m.CPUs)
	// Twice as long, halved: what is timed here does not slow down under load.
	return []cell{{"quiet", s, float64(ms) / 100}, {"noise", under, float64(ms) / 200}}
}

func activitySection(_ Machine, g *cells) report.Section {
	t := report.Table{Title: "Published and today", Head: []string{"", "published", "today", "under load"}}
	quiet, ok := last[activitywork.Result](g.of("quiet"), leastLoaded)
	noisy, okToo := last[activitywork.Result](g.of("noise"), leastLoaded)
	if !ok && !okToo {
		return report.Section{}
	}
	row := func(name, then string, now func(activitywork.Result) string) {
		t.Rows = append(t.Rows, []string{name, then, orNone(ok, quiet, now), orNone(okToo, noisy, now)})
	}
	row("counter frequency", "2294 MHz", func(r activitywork.Result) string { return fmt.Sprintf("%.1f MHz", r.CounterHz/1e6) })
	row("inactive threshold", "2500 cycles", func(r activitywork.Result) string {
		return chart.Digits(r.ThresholdNs*r.CounterHz/1e9) + " cycles"
	})
	row("observed", "84.064 ms", func(r activitywork.Result) string { return chart.Quantity(r.Observed, "s") })
	row("inactive", "0.189 ms", func(r activitywork.Result) string { return chart.Quantity(r.Lost, "s") })
	row("inactive share", "0.225 % (0.023 % stated)", func(r activitywork.Result) string { return chart.Percent(r.Share) })
	row("mean active period", "2.892 ms", func(r activitywork.Result) string { return chart.Quantity(r.MeanActiveNs, "ns") })
	row("longest inactive", bench.None, func(r activitywork.Result) string { return chart.Quantity(r.LongestNs, "ns") })
	row("ticks", bench.None, func(r activitywork.Result) string {
		if !r.Tick.Found {
			return "no period found"
		}
		return chart.Quantity(r.Tick.Hz, "Hz")
	})
	lost := func(r activitywork.Result, ok bool) string {
		if !ok {
			return "not measured"
		}
		return fmt.Sprintf("%s, every %s", chart.Percent(r.Share), chart.Quantity(r.MeanActiveNs/1e9, "s"))
	}
	return report.Section{Answer: fmt.Sprintf("%s: %s. Under load: %s.", g.today("quiet"), lost(quiet, ok), lost(noisy, okToo)), Tables: []report.Table{t}}
}
