package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/model"
	"piton/internal/rules"
)

// Searcher searches for the placement of a process; Seeker is the real one.
type Searcher interface {
	Search(context.Context, rules.Decision) Search
}

// Search is what became of a search. Everything is as it was unless State.Found says that
// something was kept.
type Search struct {
	rules.Decision
	Comm string
	auto.State
	Err error
}

// Seeker searches as piton auto does.
type Seeker struct {
	Tuner   *change.Tuner                               // not a daemon's: it waits while others change something
	Measure func(context.Context) (*model.Model, error) // the load
}

// Search is part of Searcher.
func (s *Seeker) Search(ctx context.Context, d rules.Decision) Search {
	// Those that place processes meanwhile do not wait for a P.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	out := Search{Decision: d}
	k, err := s.Tuner.Look(d.PID, d.PID)
	if err == nil && k.StartTicks != d.StartTicks {
		err = attr.ErrGone
	}
	deps := action.Deps{Tuner: s.Tuner}
	if out.Comm = k.Comm; err == nil {
		deps.Model, err = s.Measure(ctx)
	}
	if out.Err = err; err == nil {
		out.State, out.Err = action.RunSearch(ctx, deps, action.SearchAsk{
			Targets: []change.Target{{TID: d.PID, StartTicks: d.StartTicks, Scope: change.ScopeProcess}},
			Metric:  d.Rule.Metric, Budget: d.Rule.Search, By: d.Rule.Title() + ": ",
		}, func(auto.State) {})
	}
	if errors.Is(out.Err, context.Canceled) {
		out.Err = context.Cause(ctx)
	}
	return out
}

// searches are the processes whose placement is searched, one after the other: two at a time
// would be judged by each other's trials.
type searches struct {
	waiting []rules.Decision // in the order of their turns
	pruned  time.Duration    // when those that ended were last left out
	running *running
}

// pruneEvery is how often those that wait are looked at.
const pruneEvery = time.Second

// running is a search under way.
type running struct {
	rules.Decision
	end  context.CancelCauseFunc
	done chan Search
}

// The causes for which a search ends early.
var (
	errLeft    = errors.New("the process has ended, or the rule is no longer for it; everything is as it was")
	errStopped = errors.New("piton rules run ends; everything is as it was")
)

// want notes a decision whose placement is searched, once for a process.
func (d *Daemon) want(decision rules.Decision) {
	switch {
	case decision.Searched:
	case d.o.Searcher == nil:
		d.o.Report(Report{Effect: &Effect{Decision: decision, Status: Planned}})
	default:
		d.searches.waiting = append(d.searches.waiting, decision)
	}
}

// seek reports a search that has ended, and begins the next one. The events of processes
// are read, and rules applied, meanwhile.
func (d *Daemon) seek(ctx context.Context) {
	s, now := &d.searches, d.now()
	if len(s.waiting) > 0 && now-s.pruned >= pruneEvery {
		s.pruned = now
		s.waiting = slices.DeleteFunc(s.waiting, func(w rules.Decision) bool { return !d.engine.Holds(w) })
	}
	if s.running != nil {
		if !d.engine.Holds(s.running.Decision) {
			s.running.end(errLeft)
		}
		select {
		case found := <-s.running.done:
			d.found(found)
		default:
			return
		}
	}
	if len(s.waiting) == 0 || now-s.waiting[0].Asked < rules.SearchAfter {
		return
	}
	next := s.waiting[0]
	if s.waiting = s.waiting[1:]; !d.engine.Holds(next) {
		return
	}
	its, end := context.WithCancelCause(context.WithoutCancel(ctx))
	s.running = &running{next, end, make(chan Search, 1)}
	go func(done chan<- Search) { done <- d.o.Searcher.Search(its, next) }(s.running.done)
}

// stopSearch ends the search that runs, and waits until everything is as it was.
func (d *Daemon) stopSearch() {
	if r := d.searches.running; r != nil {
		r.end(errStopped)
		d.found(<-r.done)
	}
}

// found reports a search; one that did not come to measuring is a effect that failed.
func (d *Daemon) found(s Search) {
	d.searches.running.end(nil)
	d.searches.running = nil
	switch {
	case errors.Is(s.Err, errLeft), errors.Is(s.Err, attr.ErrGone):
		d.o.Report(Report{Effect: &Effect{Decision: s.Decision, Comm: s.Comm, Status: Ended}})
	case s.Found == nil:
		d.o.Report(Report{Effect: &Effect{Decision: s.Decision, Comm: s.Comm, Status: Failed, Why: fmt.Sprintf("no placement was searched: %v", s.Err)}})
	default:
		d.o.Report(Report{Search: &s})
	}
}
