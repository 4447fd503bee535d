package paper

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/search"
	"piton/workloads"
)

// Searcher makes the cells of automatic: a workload works endlessly, piton auto's search is
// made for it, all candidates are tried to find the best, and then the kernel's placement,
// the best other one and what the search would keep are compared, interleaved.
//
// All of that is one trial of the change path: one entry of the journal, reverted at its end.
type Searcher struct {
	Runner *runner.Runner
	// Prepare chooses the candidates for processes. The Job is without a Metric.
	Prepare func(ctx context.Context, targets []change.Target) (auto.Job, error)
}

// The placements of a cell, beside bench.Normal.
const (
	manualBest bench.Placement = "manual" // the best of all candidates but the kernel's
	byAuto     bench.Placement = "auto"   // what the search keeps, where it is neither
)

var searchedPlacements = []bench.Placement{bench.Normal, manualBest, byAuto}

const (
	// startPoll is how often it is looked whether a workload works yet.
	startPoll = 100 * time.Millisecond
	// periodTime is a period with what is between two of them.
	periodTime = auto.Period + 15*time.Millisecond
	// All candidates are tried in so many rounds to find the best.
	leastTries, mostTries = 3, 10
	// The placements are compared in so many rounds; an interval takes six.
	leastCompared, mostCompared = 6, 30
)

// Begin keeps a cell.
func (s *Searcher) Begin(study bench.Study) (bench.Results, error) { return s.Runner.Open(study), nil }

// Cell makes a cell; see Maker.
func (s *Searcher) Cell(ctx context.Context, results *bench.Results, within time.Duration, on func(bench.Event)) error {
	c := &searchCell{Searcher: s, study: results.Study, until: time.Now().Add(within)}
	c.tell = func(p bench.Placement) {
		if on != nil {
			on(bench.Event{Kind: bench.RunStarted, Study: results.ID, Run: bench.RunResult{Placement: p, PID: c.pid}})
		}
	}
	err := c.run(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errNoTime):
		return nil
	case err != nil:
		c.runs = []bench.RunResult{{Workload: c.study.Workload, Placement: byAuto, PID: c.pid, Started: time.Now(), Err: err.Error()}}
	}
	for _, run := range c.runs {
		s.Runner.Add(results, run)
	}
	return nil
}

// searchCell is one cell being made.
type searchCell struct {
	*Searcher
	study bench.Study
	until time.Time
	tell  func(bench.Placement)
	pid   kernel.TID
	job   auto.Job
	found searched
	runs  []bench.RunResult
}

// run runs the workload and the trial. It is killed when this thread ends.
func (c *searchCell) run(ctx context.Context) error {
	runtime.LockOSThread() // see runner.StartEndless
	defer runtime.UnlockOSThread()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, err := c.Runner.StartEndless(ctx, c.study, stop)
	if err != nil {
		return err
	}
	defer work.End()
	c.pid = work.PID
	c.tell(bench.Normal)
	targets, err := c.targets(ctx)
	if err != nil {
		return err
	}
	metric, err := c.metric(ctx, work, targets)
	if err != nil {
		return err
	}
	defer metric.Close()
	if err := moves(ctx, metric); err != nil {
		return err
	}
	if c.job, err = c.Prepare(ctx, targets); err != nil {
		return err
	}
	c.job.Metric, c.job.Candidates = metric, ofTargets(targets, c.job.Candidates)
	least := time.Duration(search.LeastPeriods(len(c.job.Candidates))+c.leastAfter()) * periodTime
	if limit, ok := ctx.Deadline(); ok && time.Until(limit) < least*2/3 { // most searches end earlier than they may
		return errNoTime
	}
	return c.job.Trial(ctx, 2*max(time.Until(c.until), least), c.trial)
}

// leastAfter is how many periods at least follow the search.
func (c *searchCell) leastAfter() int { return leastTries*len(c.job.Candidates) + leastCompared*2 }

// targets are the processes of the workload: itself or, where those do the work, the further
// ones that it has started, once there are no more of them than a moment before.
func (c *searchCell) targets(ctx context.Context) ([]change.Target, error) {
	w, err := workloads.Find(c.study.Workload)
	if err != nil || w.Process == nil {
		return []change.Target{{TID: c.pid}}, err
	}
	for before := 0; ; {
		if err := runner.Pause(ctx, startPoll); err != nil {
			return nil, err
		}
		pids, err := c.Runner.Proc.Processes()
		if err != nil {
			return nil, err
		}
		var out []change.Target
		for _, pid := range pids {
			if st, err := c.Runner.Proc.Stat(pid); err == nil && st.PPID == c.pid {
				out = append(out, change.Target{TID: pid})
			}
		}
		if len(out) > 0 && len(out) == before {
			return out, nil
		}
		before = len(out)
	}
}

// ofTargets are the candidates that place no other process: nothing that was there before is
// changed for a study.
func ofTargets(targets []change.Target, all []auto.Candidate) []auto.Candidate {
	return slices.DeleteFunc(all, func(c auto.Candidate) bool {
		return slices.ContainsFunc(c.Places, func(p auto.Placed) bool {
			return !slices.ContainsFunc(targets, func(t change.Target) bool { return t.TID == p.TID })
		})
	})
}

// moves waits until a metric grows.
func moves(ctx context.Context, m *auto.Metric) error {
	for {
		if sum, err := m.Read(); err != nil || sum > 0 {
			return err
		}
		if err := runner.Pause(ctx, startPoll); err != nil {
			return err
		}
	}
}

// metric opens what the study's figure names.
func (c *searchCell) metric(ctx context.Context, work *runner.Endless, targets []change.Target) (*auto.Metric, error) {
	f := c.study.Figure
	if f.Pattern == ownRuns {
		return auto.NewMetric(f.Pattern, f.Unit, work.Runs()), nil
	}
	var pids []kernel.TID
	for _, t := range targets {
		pids = append(pids, t.TID)
	}
	return auto.OpenMetric(ctx, c.Runner.Proc, pids, f.Pattern)
}
