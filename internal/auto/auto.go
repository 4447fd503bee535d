package auto

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/search"
)

const (
	// Period is how long one placement is measured at a time, its first part aside, in
	// which caches become warm. Longer ones did not help: noise is as large in them.
	Period = 200 * time.Millisecond
	// settleTime is that first part: a pipe pair is within 2 % of steady after 75 to 100 ms,
	// a small footprint after 20.
	settleTime = 60 * time.Millisecond
	// guardSlack is how long a search that is not over in its time is left to end by itself.
	guardSlack = 30 * time.Second
)

// Job is a search for the placement of live processes, which are placed together.
type Job struct {
	Tuner      *change.Tuner
	Targets    []change.Target
	Candidates []Candidate // Kernel first
	Metric     *Metric
	NotWorse   []*Guardrail  // opened; a candidate that hurts one is out
	Budget     time.Duration // 0 is what search.DefaultPeriods take
	// Caches are the CPUs of each last-level cache that the processes may use, where there are
	// several: see back.
	Caches []cpuset.Set
	Memory bool // of the processes is moved to the nodes of what is kept
	// Yes is the user's confirmation to candidates that need it: they were asked for.
	Yes bool
	// By is what asked for the search, where that is no user; the reasons in the journal begin with it.
	By string
}

// PIDs are the processes that are placed.
func (j *Job) PIDs() (pids []kernel.TID) {
	for _, t := range j.Targets {
		pids = append(pids, t.TID)
	}
	return pids
}

// Found is how a search ended.
type Found struct {
	search.Result
	Kept   Candidate // Kernel: nothing was changed
	ByHand bool      // the user ended the search by a KeepNow: nothing is proved
	// Outcome is that of the kept placement's change, nil when nothing was kept.
	Outcome *change.Outcome
	Took    time.Duration
	targets []change.Target
}

// LeastBudget is the shortest Budget for the candidates.
func (j *Job) LeastBudget() time.Duration {
	if len(j.Candidates) < 2 {
		return 0
	}
	return time.Duration(search.LeastPeriods(len(j.Candidates))) * Period
}

// Run searches, and keeps the best candidate only if it is better than Kernel: then it is
// changed to that, as one entry of the journal. Else, and after an error, everything is as it
// was before. A context whose cause is a KeepNow ends the search as well, and has that
// candidate kept. The error is the context's, ErrOvertaken, ErrTooLate and ErrUndone of package
// change, attr.ErrGone when the process ended, or says that the rate could not be measured;
// with it Found says what was measured until then.
func (j *Job) Run(ctx context.Context, tell func(search.Event)) (found Found, err error) {
	found.Kept, found.targets = j.Candidates[0], j.Targets
	periods := search.DefaultPeriods(len(j.Candidates))
	if j.Budget > 0 {
		periods = int(j.Budget / Period)
	}
	began := time.Now()
	defer func() { found.Took = time.Since(began) }()
	err = j.Trial(ctx, time.Duration(periods)*Period*2, func(ctx context.Context, measure search.Measure) (words string, err error) {
		found.Result, err = j.Search(ctx, periods, measure, tell)
		if now := (KeepNow{}); errors.As(err, &now) {
			found.keepByHand(now.Candidate, j.names())
			err = nil
		}
		return fmt.Sprintf("auto, %d periods by %s: %s", found.Periods, j.Metric.Name(), found.Result.Reason), err
	})
	if err != nil || found.Result.Kept == 0 {
		return found, err
	}
	if now := (KeepNow{}); errors.As(context.Cause(ctx), &now) {
		ctx = context.WithoutCancel(ctx)
	}
	err = j.keep(ctx, &found)
	return found, err
}

// Search is the search by itself, in a Trial; it keeps nothing.
func (j *Job) Search(ctx context.Context, periods int, measure search.Measure, tell func(search.Event)) (search.Result, error) {
	return search.Run(ctx, len(j.Candidates), search.Options{Seed: rand.Uint64(), MaxPeriods: periods, Names: j.names()}, measure, tell)
}

func (j *Job) names() (out []string) {
	for _, c := range j.Candidates {
		out = append(out, c.Name)
	}
	return out
}

// Trial lets body place and measure candidates in an order of its own, and say for the journal
// what it found. Afterwards, and after an error, everything is as it was before; also if piton
// is killed, or body takes guardSlack longer than within.
func (j *Job) Trial(ctx context.Context, within time.Duration, body func(context.Context, search.Measure) (found string, err error)) (err error) {
	if len(j.Candidates) == 1 {
		_, err = body(ctx, j.measure(func(context.Context, int) error { return nil }, func(int) {}))
		return err
	}
	var ended error
	try := func(ctx context.Context, set change.SetCandidate) (found string, err error) {
		b := &back{job: j, set: set, first: len(j.Candidates)}
		found, ended = body(ctx, j.measure(b.put, b.seen))
		return found, ended
	}
	var candidates [][]change.Request
	for _, c := range j.Candidates[1:] {
		candidates = append(candidates, c.requests(j.Targets, j.By+"tried by auto: "+c.Name))
	}
	for _, cpus := range j.caches() {
		var c Candidate
		for _, t := range j.Targets {
			c.Give(t.TID, cpus)
		}
		candidates = append(candidates, c.requests(j.Targets, j.By))
	}
	plan, err := j.Tuner.PlanTrial(ctx, candidates)
	if err != nil {
		return err
	}
	if bad, ok := plan.Preview().FirstBad(); ok {
		return refused{bad}
	}
	out, err := j.Tuner.Try(ctx, plan, change.Confirmation{Yes: j.Yes, RevertAfter: within + guardSlack}, try)
	if err == nil && ended == nil {
		if bad, ok := out.FirstBad(); ok {
			err = refused{bad}
		}
	}
	return err
}

// keep changes the processes to the candidate that won.
func (j *Job) keep(ctx context.Context, found *Found) error {
	c := j.Candidates[found.Result.Kept]
	how := "is"
	if found.ByHand {
		how = fmt.Sprintf("was kept by hand after %d periods, not proved:", found.Periods)
	}
	reason := fmt.Sprintf("%sauto: %s %s %s against the kernel's choice; %s", j.By, c.Name, how, found.gain(j.Metric.Name()), c.Reason)
	requests := c.requests(j.Targets, reason)
	for i, p := range c.Places {
		if j.Memory && slices.ContainsFunc(j.Targets, func(t change.Target) bool { return t.TID == p.TID }) {
			requests[i].Set = append(requests[i].Set, attr.SetMemoryNear(p.CPUs))
		}
	}
	plan, err := j.Tuner.Plan(ctx, requests)
	if err != nil {
		return err
	}
	out, err := j.Tuner.Apply(ctx, plan, change.Confirmation{Yes: j.Yes})
	found.Outcome = &out
	if bad, ok := out.FirstBad(); ok && err == nil {
		err = refused{bad}
	}
	if err == nil {
		found.Kept = c
	}
	return err
}

// refused is a candidate that cannot be set; it Is what the kernel or the rights say.
type refused struct{ change.Change }

func (r refused) Error() string { return r.Object.Object() + ": " + r.Why() }
func (r refused) Unwrap() error { return r.Err }

// measure measures one period of a candidate; seen is told which when it is over.
func (j *Job) measure(put func(ctx context.Context, candidate int) error, seen func(candidate int)) search.Measure {
	return func(ctx context.Context, candidate int) (search.Reading, error) {
		if err := put(ctx, candidate); err != nil {
			return search.Reading{}, err
		}
		if err := runner.Pause(ctx, settleTime); err != nil {
			return search.Reading{}, err
		}
		span, err := j.Metric.Begin()
		for _, g := range j.NotWorse {
			err = errors.Join(err, g.start())
		}
		if err != nil {
			return search.Reading{}, err
		}
		if err := runner.Pause(ctx, Period-settleTime); err != nil {
			return search.Reading{}, err
		}
		figure, err := j.Metric.End(span)
		if gone := j.gone(); gone != nil {
			return search.Reading{}, gone
		}
		seen(candidate)
		out := search.Reading{Rate: j.Metric.merit(figure)}
		for _, g := range j.NotWorse {
			hurt, late := g.violated(candidate)
			out.Violated, err = out.Violated || hurt, errors.Join(err, late)
		}
		return out, err
	}
}

// gone is an error once all processes have ended.
func (j *Job) gone() error {
	for _, t := range j.Targets {
		if k, err := j.Tuner.Look(t.TID, t.TID); err == nil && !k.Ended() {
			return nil
		}
	}
	return fmt.Errorf("process %d: %w", j.Targets[0].TID, attr.ErrGone)
}
