package paper

import (
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/bench/store"
)

// Unfinished finds the last grid of the same papers on this host that did not end,
// with its cells; ok is false where there is none. One that another process runs,
// so that it cannot be held, is skipped. Why lists the conditions that changed
// since, which keep it from being resumed.
func Unfinished(h store.History, papers []Paper, now bench.Conditions, hold func(bench.Grid) bool) (g bench.Grid, cells []bench.Results, why []string, ok bool) {
	var names []string
	for _, p := range papers {
		names = append(names, p.Name)
	}
	for _, g := range slices.Backward(h.Grids) {
		if !slices.Equal(g.Papers, names) {
			continue
		}
		cells := slices.DeleteFunc(h.Cells(g.ID), func(r bench.Results) bool { return strings.HasSuffix(r.Study.Cell, " "+probeKey) })
		if len(cells) == 0 || cells[0].Conditions.Host != now.Host {
			continue
		}
		if !g.Ended.IsZero() {
			return bench.Grid{}, nil, nil, false
		}
		now.Load1, now.Steal = cells[0].Conditions.Load1, cells[0].Conditions.Steal // they change all the time
		if why := now.Differences(cells[0].Conditions); len(why) > 0 {
			return bench.Grid{}, nil, why, false
		}
		if !hold(g) {
			continue
		}
		return g, cells, nil, true
	}
	return bench.Grid{}, nil, nil, false
}
