package paper

import (
	"context"
	"errors"
	"time"

	"piton/internal/bench"
)

// Maker makes the cells of a study whole: Searcher and Deliverer.
type Maker interface {
	Begin(study bench.Study) (bench.Results, error)
	// Cell makes all of a cell in about so long, or more if it takes that, and nothing where
	// there is no time for it until ctx ends.
	Cell(ctx context.Context, results *bench.Results, within time.Duration, on func(bench.Event)) error
}

// errNoTime says that a cell was not begun.
var errNoTime = errors.New("too little time")

// fillShare is the part of its share of the time that a cell fills: what a long one takes
// beyond it is not missing from the cells after it.
const fillShare = 0.85

// make makes the cells of a study, which share the time equally.
func (r *Run) make(ctx context.Context, p Paper, until time.Time) error {
	if r.o.Makers[p.Name] == nil {
		return nil
	}
	missing := r.missing(p, func(c bench.Results) bool { return !p.made(c) })
	for n, i := range missing {
		share := time.Duration(fillShare * float64(time.Until(until)) / float64(len(missing)-n))
		one := func(ctx context.Context, c *bench.Results, on func(bench.Event)) error {
			return r.o.Makers[p.Name].Cell(ctx, c, share, on)
		}
		if err := r.round(ctx, p, i, one, Progress{Round: 1, Cells: n, Of: len(missing)}); err != nil {
			return err
		}
	}
	return nil
}
