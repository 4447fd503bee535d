package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"time"

	"piton/internal/kernel"
)

// Grid is a table of studies that are interleaved, a round of each, repeatedly: cells
// that are compared are measured close in time, and when time runs out every cell has
// been measured as often.
type Grid struct {
	ID      string
	Started time.Time
	Papers  []string // the published studies whose tables it fills
	Budget  time.Duration
	Ended   time.Time // zero while it is unfinished
}

// NewGrid names one. Its cells are studies that carry its ID.
func NewGrid(papers []string, budget time.Duration) Grid {
	return Grid{ID: newID(time.Now()), Started: time.Now(), Papers: papers, Budget: budget}
}

// gridRecord is {"type":"grid"}: one when it begins and one when it ends.
type gridRecord struct {
	Type    string     `json:"type"`
	ID      string     `json:"grid"`
	Started time.Time  `json:"started"`
	Papers  []string   `json:"papers"`
	BudgetS float64    `json:"budget_s"`
	Ended   *time.Time `json:"ended,omitempty"`
}

// Grid keeps the beginning of a grid or, with Ended, its end.
func (s *Store) Grid(g Grid) error {
	if s == nil {
		return nil
	}
	rec := gridRecord{Type: "grid", ID: g.ID, Started: g.Started, Papers: g.Papers, BudgetS: g.Budget.Seconds()}
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
	g := Grid{ID: rec.ID, Started: rec.Started, Papers: rec.Papers, Budget: seconds(rec.BudgetS)}
	if rec.Ended != nil {
		g.Ended = *rec.Ended
	}
	if i := slices.IndexFunc(h.grids, func(old Grid) bool { return old.ID == g.ID }); i >= 0 {
		h.grids[i] = g
		return
	}
	h.grids = append(h.grids, g)
}

// Cells are the studies of a grid, in the order in which they were planned.
func (h History) Cells(grid string) []Results {
	var out []Results
	for _, r := range h.Studies {
		if r.Study.Grid == grid {
			out = append(out, r)
		}
	}
	return out
}

// Begin keeps a study that is made round by round. The conditions are read anew.
func (r *Runner) Begin(study Study) (Results, error) {
	if err := study.validateCounts(); err != nil {
		return Results{}, err
	}
	results := Results{ID: newID(time.Now()), Started: time.Now(), Study: study.Canonical()}
	if r.Conditions != nil {
		results.Conditions = r.Conditions()
	}
	results.StoreErr = r.Store.begin(results)
	return results, nil
}

// Round makes the next round of a study that Begin began, or what is missing of
// it. It is Run's round: failed runs do not end it, and when ctx ends the process
// that runs is killed and ctx's error returned.
func (r *Runner) Round(ctx context.Context, results *Results, on func(Event)) error {
	if on == nil {
		on = func(Event) {}
	}
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	load, err := r.startNoise(results.Study.Noise)
	if err != nil {
		return err
	}
	defer load.stop()
	left := estimate{study: results.Study, done: len(results.Runs)}
	n := results.Rounds()
	for _, slot := range results.Study.round(n) {
		if slices.ContainsFunc(results.Runs, func(run RunResult) bool { return run.Placement == slot.placement && run.Index == slot.index }) && slot.index >= 0 {
			continue
		}
		if err := r.next(ctx, results, slot, &left, on); err != nil {
			return fmt.Errorf("cell %s: %w", results.Study.Cell, err)
		}
	}
	return nil
}

// Rounds is how many whole rounds there are.
func (r Results) Rounds() int {
	least := len(r.Runs)
	for _, p := range r.Study.Placements {
		least = min(least, len(r.Of(p)))
	}
	return least
}

// CompareAll compares the base placements of pairs of studies, which may differ
// in their work, and corrects for the number of pairs.
func CompareAll(pairs [][2]Results) []Comparison {
	out := make([]Comparison, len(pairs))
	for i, p := range pairs {
		out[i] = compare(p[1].Study.Metric(), baseArm(p[0]), baseArm(p[1]))
	}
	correct(out)
	return out
}

func baseArm(r Results) Arm {
	if len(r.Study.Placements) == 0 {
		return Arm{}
	}
	return newArm(r.Study.Placements[0], r.Of(r.Study.Placements[0]))
}
