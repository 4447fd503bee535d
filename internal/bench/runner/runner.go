// Package runner runs studies: it starts a workload as a child process again and again,
// has it placed, measures it from outside, and keeps what came of it.
//
// It changes no task itself: placing is done by a function that it is given, the same that
// places any process. Start at Runner.Run; ChildMain is the other end, inside the child.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Runner runs studies. Place, Scheduler and Proc must be set.
type Runner struct {
	// Command starts a workload's process; the workload's name and flags are appended to it.
	Command   []string
	Env       []string // environment of the processes; nil = this one's
	Place     bench.PlaceFunc
	Scheduler kernel.Scheduler
	Proc      procfs.FS
	Store     *store.Store // where results are kept; nil = nowhere
	// Conditions are read at the start of a study; nil = not read.
	Conditions func() bench.Conditions
	// WallClock tells the time of day at a moment, nil = that of the moment itself. No
	// length of time is taken from it.
	WallClock func(time.Time) time.Time
}

// Run runs the study in its Canonical form, and calls on, if not nil, for each event from the calling
// goroutine. A failed run does not end it. When ctx ends, the process that runs
// is killed and waited for, and the Results so far are returned with ctx's error.
func (r *Runner) Run(ctx context.Context, study bench.Study, on func(bench.Event)) (bench.Results, error) {
	results, err := r.Begin(study)
	if err == nil {
		err = r.loaded(study, func() error { return r.rounds(ctx, &results, on) })
	}
	return results, err
}

// Begin keeps a study that is made round by round.
func (r *Runner) Begin(study bench.Study) (bench.Results, error) {
	if err := validate(study); err != nil {
		return bench.Results{}, err
	}
	return r.Open(study), nil
}

// Round makes the next round of a study that Begin began, or what is missing of
// it. It is Run's round: failed runs do not end it, and when ctx ends the process
// that runs is killed and ctx's error returned.
func (r *Runner) Round(ctx context.Context, results *bench.Results, on func(bench.Event)) error {
	return r.loaded(results.Study, func() error {
		left := estimate{study: results.Study, done: len(results.Runs)}
		for _, slot := range missing(results, results.Rounds()) {
			if err := r.next(ctx, results, slot, &left, on); err != nil {
				return fmt.Errorf("cell %s: %w", results.Study.Cell, err)
			}
		}
		return nil
	})
}

// loaded calls a function that makes runs while the study's background load is there.
func (r *Runner) loaded(study bench.Study, runs func() error) error {
	runtime.LockOSThread() // see startNoise
	defer runtime.UnlockOSThread()
	load, err := r.startNoise(study.Noise)
	if err != nil {
		return err
	}
	defer load.stop()
	return runs()
}

// Extend adds rounds to a study that has ended until the interval of every placement is
// within its Until, for as long as its Budget. How wide they are decides, never what the
// difference is (see over).
func (r *Runner) Extend(ctx context.Context, results bench.Results, on func(bench.Event)) (bench.Results, error) {
	if err := validate(results.Study); err != nil {
		return results, err
	}
	err := r.loaded(results.Study, func() error {
		results.Runs = slices.Clone(results.Runs)
		results.Study.Added++
		results.StoreErr = r.Store.Begin(results) // what is asked for now
		return r.rounds(ctx, &results, on)
	})
	return results, err
}

// rounds makes the rounds of a study that are missing.
func (r *Runner) rounds(ctx context.Context, results *bench.Results, on func(bench.Event)) error {
	study, began := results.Study, time.Now()
	left := estimate{study: study, done: len(results.Runs)}
	for n := results.Rounds(); n < rounds(study); n++ {
		left.spent = time.Since(began) // what is between the runs counts too
		if over(study, n, left.spent, *results) {
			break
		}
		for _, slot := range missing(results, n) {
			if err := r.next(ctx, results, slot, &left, on); err != nil {
				return err
			}
		}
	}
	return nil
}

// Trial makes a few runs of the study's work, unplaced, that are not kept, one where that
// takes long: they show how long a run takes.
func (r *Runner) Trial(ctx context.Context, study bench.Study) (bench.Results, error) {
	t := *r
	t.Store = nil
	study.Placements, study.Runs, study.Warmup, study.Until = []bench.Placement{bench.Normal}, 3, 0, 0
	study.Timeout, study.Budget = 10*time.Second, 300*time.Millisecond
	return t.Run(ctx, study, nil)
}

// next makes one run; on may be nil.
func (r *Runner) next(ctx context.Context, results *bench.Results, s slot, left *estimate, on func(bench.Event)) error {
	emit := func(run bench.RunResult, ended bool) {
		e := bench.Event{Ended: ended, Study: results.ID, Run: run, Done: left.done, Total: left.total()}
		if e.Left, e.HaveLeft = left.remaining(); on != nil {
			on(e)
		}
	}
	start := time.Now()
	clock, run := r.clock(start), bench.RunResult{Workload: results.Study.Workload, Placement: s.placement, Index: s.index, Started: start}
	one := r.runOne
	if results.Study.Workload == bench.AttachWorkload {
		one = r.attach
	}
	err := one(ctx, results.Study, &run, func() { emit(run, false) })
	if ctx.Err() != nil {
		return fmt.Errorf("run the study: %w", context.Cause(ctx))
	}
	if err != nil {
		run.Err = err.Error()
	}
	end := time.Now()
	left.add(end.Sub(start))
	run.ClockStep = step(r.clock(end).Sub(clock), end.Sub(start))
	r.Add(results, run)
	emit(run, true)
	return nil
}

// Open begins a study in its Canonical form. The conditions are read anew. A cell of a grid
// is kept at once, so that the grid can be resumed, any other study with its first run.
func (r *Runner) Open(study bench.Study) bench.Results {
	results := bench.Results{ID: bench.NewID(time.Now()), Started: time.Now(), Study: study.Canonical()}
	if r.Conditions != nil {
		results.Conditions = r.Conditions()
	}
	if results.Study.Grid != "" {
		results.StoreErr = r.Store.Begin(results)
	}
	return results
}

// Add keeps a run of a study.
func (r *Runner) Add(results *bench.Results, run bench.RunResult) {
	if len(results.Runs) == 0 && results.Study.Grid == "" {
		results.StoreErr = r.Store.Begin(*results)
	}
	results.Runs = append(results.Runs, run)
	if results.StoreErr == nil || errors.Is(results.StoreErr, store.ErrUnwritable) {
		results.StoreErr = cmp.Or(r.Store.Add(results.ID, run), results.StoreErr)
	}
}

// clock is the time of day at a moment, without the monotonic time that belongs to it.
func (r *Runner) clock(now time.Time) time.Time {
	if r.WallClock != nil {
		now = r.WallClock(now)
	}
	return now.Round(0)
}

// leastStep is what counts as setting a clock. NTP slews by 500 millionths, which
// comes to a second in half an hour.
const leastStep = time.Second

// step is by how much the clock was set while it showed one length of time and another one
// passed, 0 if it was not.
func step(shown, passed time.Duration) time.Duration {
	if (shown - passed).Abs() < leastStep {
		return 0
	}
	return (shown - passed).Round(time.Millisecond)
}

type slot struct {
	placement bench.Placement
	index     int
}

// rounds is how many rounds a study has at most, warm-up included.
func rounds(s bench.Study) int {
	if s.Until > 0 {
		return s.Warmup + bench.MaxRuns
	}
	return s.Warmup + s.Runs
}

// round is a round's runs. Placements are interleaved, and each round begins with the next one,
// A B C, B C A, C A B, so that neither drift nor the run before favours any.
func round(s bench.Study, i int) []slot {
	n := len(s.Placements)
	out := make([]slot, n)
	for k := range out {
		out[k] = slot{s.Placements[(i+k)%n], max(i-s.Warmup, bench.WarmupIndex)}
	}
	return out
}

// over reports whether a study may end before round i, of which there is at least
// one, because its budget is spent or, once it has its Runs, because every interval is as narrow as was
// asked for. That looks at how wide the intervals are and never at what the
// difference is, so it does not make one likelier to be found.
func over(s bench.Study, i int, spent time.Duration, soFar bench.Results) bool {
	if s.Budget > 0 && spent >= s.Budget {
		return i > 0
	}
	return s.Until > 0 && i >= s.Warmup+s.Runs && soFar.Narrow(s.Until)
}

// estimate is the time left, from the mean of the runs so far. Rounds are
// interleaved, so the mean weighs all placements alike.
type estimate struct {
	study bench.Study
	done  int
	spent time.Duration // since the study's start
}

func (e *estimate) add(run time.Duration) { e.done++; e.spent += run }

// total is how many runs there will be, as far as that is known.
func (e *estimate) total() int { return max(e.study.Total(), e.done) }

// remaining is the time until the last planned run, and no longer than the budget.
func (e *estimate) remaining() (left time.Duration, known bool) {
	if e.done == 0 {
		return 0, false
	}
	left = e.spent / time.Duration(e.done) * time.Duration(e.total()-e.done)
	budget := max(e.study.Budget-e.spent, 0)
	switch {
	case e.study.Until > 0 && e.total() == e.done: // until it is narrow, or the budget is spent
		return budget, e.study.Budget > 0
	case e.study.Budget > 0:
		left = min(left, budget)
	}
	return left, true
}

// missing are the runs of a round that have not been made.
func missing(r *bench.Results, n int) []slot {
	return slices.DeleteFunc(round(r.Study, n), func(s slot) bool {
		return s.index >= 0 && slices.ContainsFunc(r.Runs, func(run bench.RunResult) bool { return run.Placement == s.placement && run.Index == s.index })
	})
}
