package paper

import (
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/report"
)

// Stored is what is kept of one thing that was run: a study, or published ones that were
// reproduced together.
type Stored struct {
	Grid    bench.Grid      // of published ones; else it has no ID
	Studies []bench.Results // the study, or the cells in the order in which they were planned
}

// ID names it.
func (s Stored) ID() string {
	if s.Published() {
		return s.Grid.ID
	}
	return s.Studies[0].ID
}

// Published reports whether it is of published studies.
func (s Stored) Published() bool { return s.Grid.ID != "" }

// What is what was run, as on a command line.
func (s Stored) What() string {
	if s.Published() {
		return "paper " + strings.Join(s.Grid.Papers, " ")
	}
	return report.Command(s.Studies[0].Study)
}

// All are those of a history that have a run, in the order in which they began. Probes, which no
// table shows, and cells whose grid was interrupted while it was planned are in none.
func All(h store.History) (out []Stored) {
	places := map[string]int{} // of grids
	for _, r := range h.Studies {
		id := r.Study.Grid
		at, known := places[id]
		switch {
		case id == "":
			out = append(out, Stored{Studies: []bench.Results{r}})
		case IsProbe(r):
		case known:
			out[at].Studies = append(out[at].Studies, r)
		default:
			if g := slices.IndexFunc(h.Grids, func(g bench.Grid) bool { return g.ID == id }); g >= 0 {
				places[id] = len(out)
				out = append(out, Stored{h.Grids[g], []bench.Results{r}})
			}
		}
	}
	return slices.DeleteFunc(out, func(s Stored) bool {
		return !slices.ContainsFunc(s.Studies, func(r bench.Results) bool { return len(r.Runs) > 0 })
	})
}

// ProbeKey is the cell of a probe, which no table shows.
const ProbeKey = "probe"

// IsProbe reports whether a cell is one.
func IsProbe(r bench.Results) bool { return strings.HasSuffix(r.Study.Cell, " "+ProbeKey) }
