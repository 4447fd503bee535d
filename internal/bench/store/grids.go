package store

import (
	"hash/fnv"
	"slices"

	"piton/internal/bench"
	"piton/internal/kernel"
)

// Grid keeps the beginning of a grid or, with Ended, its end.
func (s *Store) Grid(g bench.Grid) error {
	return s.append(gridRecord{Type: "grid", V: recordVersion, Grid: g, BudgetS: g.Budget.Seconds()})
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

// Cells are the studies of a grid, in the order in which they were planned.
func (h History) Cells(grid string) []bench.Results {
	return slices.DeleteFunc(slices.Clone(h.Studies), func(r bench.Results) bool { return r.Study.Grid != grid })
}
