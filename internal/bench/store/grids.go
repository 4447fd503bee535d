package store

import (
	"hash/fnv"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/kernel"
)

// gridRecord is {"type":"grid"}: one when it begins and one when it ends.
type gridRecord struct {
	Type    string     `json:"type"`
	V       int        `json:"v"`
	ID      string     `json:"grid"`
	Started time.Time  `json:"started"`
	Papers  []string   `json:"papers"`
	BudgetS float64    `json:"budget_s"`
	Ended   *time.Time `json:"ended,omitempty"`
}

// Grid keeps the beginning of a grid or, with Ended, its end.
func (s *Store) Grid(g bench.Grid) error {
	if s == nil {
		return nil
	}
	rec := gridRecord{Type: "grid", V: recordVersion, ID: g.ID, Started: g.Started, Papers: g.Papers, BudgetS: g.Budget.Seconds()}
	if !g.Ended.IsZero() {
		rec.Ended = &g.Ended
	}
	return s.append(rec)
}

// Hold makes a grid this process's own to run, until release is called or the
// process ends; release is nil where another one runs it. Each grid has a byte of
// one file that stays empty, so there is nothing to clean up.
func (s *Store) Hold(grid string) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	f, err := s.lockFile(".grids.lock")
	if err != nil {
		return nil, err
	}
	place := fnv.New32a()
	_, _ = place.Write([]byte(grid)) // never fails
	if ok, err := kernel.TryLockAt(f, int64(place.Sum32())); !ok {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func (h *history) addGrid(rec gridRecord) {
	g := bench.Grid{ID: rec.ID, Started: rec.Started, Papers: rec.Papers, Budget: seconds(rec.BudgetS)}
	if rec.Ended != nil {
		g.Ended = *rec.Ended
	}
	if i := slices.IndexFunc(h.grids, func(old bench.Grid) bool { return old.ID == g.ID }); i >= 0 {
		h.grids[i] = g
		return
	}
	h.grids = append(h.grids, g)
}

// Cells are the studies of a grid, in the order in which they were planned.
func (h History) Cells(grid string) []bench.Results {
	var out []bench.Results
	for _, r := range h.Studies {
		if r.Study.Grid == grid {
			out = append(out, r)
		}
	}
	return out
}
