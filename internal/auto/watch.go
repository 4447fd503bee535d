package auto

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/search"
)

const (
	// lookPairs is how often what was kept and what was before take turns in one look.
	lookPairs = 4
	// firstRest is how long no new search is made after one that kept nothing. It doubles
	// with each such search, to longestRest.
	firstRest   = 5 * time.Minute
	longestRest = time.Hour
)

// Watch goes on after a search: it looks whether what was kept is still better, and
// whether there are other candidates by now.
type Watch struct {
	Job   *Job
	Every time.Duration // between two looks
	// Candidates chooses them anew, by the load and the topology of now.
	Candidates func(ctx context.Context) ([]Candidate, error)
	Tell       func(Look)
	Searched   func(Found)        // a new search has ended
	Progress   func(search.Event) // of a new search

	drift *search.Drift
	rest  time.Duration
	last  time.Time // when the last search ended
	now   func() time.Time
}

// Look is one look at a placement.
type Look struct {
	Placement string
	Ratio     float64 // of its rate to that of what was before, in this look; 0 where none was measured
	Near      float64 // to an alarm, 0 to 1
	Alarm     bool    // it has become worse, by what all looks say
	Reverted  bool    // it was not confirmed, and was undone
	Reason    string  // what follows, a phrase; empty if nothing does
}

// Run looks until ctx ends or the process does; the error says which.
func (w *Watch) Run(ctx context.Context, found Found) error {
	if w.now == nil {
		w.now = time.Now
	}
	w.settle(found)
	for {
		if err := runner.Pause(ctx, w.Every); err != nil {
			return err
		}
		var err error
		if found.Kept.Name == Kernel {
			found, err = w.seek(ctx, found)
		} else {
			found, err = w.look(ctx, found)
		}
		if err != nil {
			return err
		}
	}
}

// settle notes what a search found.
func (w *Watch) settle(found Found) {
	w.last = w.now()
	if found.Kept.Name == Kernel {
		w.rest = min(max(firstRest, 2*w.rest), longestRest)
		return
	}
	w.rest, w.drift = 0, search.NewDrift(found.Pairs)
}

// seek searches again if there are other candidates and the last search was long ago.
func (w *Watch) seek(ctx context.Context, found Found) (Found, error) {
	now, err := w.Candidates(ctx)
	if err != nil {
		return found, err
	}
	same := slices.EqualFunc(now, w.Job.Candidates, func(a, b Candidate) bool { return a.Name == b.Name && a.Equal(b) })
	look := Look{Placement: Kernel}
	if same || w.now().Sub(w.last) < w.rest {
		w.Tell(look)
		return found, nil
	}
	look.Reason = "the load or the topology has changed: a new search"
	w.Tell(look)
	return w.search(ctx, now)
}

func (w *Watch) search(ctx context.Context, candidates []Candidate) (Found, error) {
	w.Job.Candidates = candidates
	found, err := w.Job.Run(ctx, w.Progress)
	if err == nil {
		w.settle(found)
		w.Searched(found)
	}
	return found, err
}

// look measures a few pairs. An alarm is reason to confirm what was kept anew, by fresh
// pairs; if that fails it is undone, and another is searched for.
func (w *Watch) look(ctx context.Context, found Found) (Found, error) {
	look := Look{Placement: found.Kept.Name}
	sum := 0.0
	err := w.Job.against(ctx, &found, func(ctx context.Context, measure search.Measure) (string, error) {
		for range lookPairs {
			var rates [2]float64
			for _, candidate := range rand.Perm(2) {
				r, err := measure(ctx, candidate)
				if err != nil {
					return "", err
				}
				rates[candidate] = r.Rate
			}
			look.Alarm = w.drift.Add(rates[1], rates[0]) || look.Alarm
			sum += search.LogRatio(rates[1], rates[0])
		}
		look.Near, look.Ratio = w.drift.Level(), math.Exp(sum/lookPairs)
		said := fmt.Sprintf("auto looks at %s: %+.1f %% in %d pairs", look.Placement, 100*(look.Ratio-1), lookPairs)
		if look.Alarm {
			said += ", and worse than it was over all looks: to be confirmed"
		}
		return said, nil
	})
	if err != nil || !look.Alarm {
		if err == nil {
			w.Tell(look)
		}
		return found, err
	}
	var again search.Result
	err = w.Job.against(ctx, &found, func(ctx context.Context, measure search.Measure) (string, error) {
		again, err = search.Run(ctx, 2, search.Options{Seed: rand.Uint64(), Names: []string{Kernel, found.Kept.Name}}, measure, nil)
		return "auto confirms: " + again.Reason, err
	})
	if err != nil {
		return found, err
	}
	if again.Kept == 1 {
		w.drift.Relearn(again.Pairs)
		look.Reason = "it seemed to be worse, and is better still: " + again.Reason
		w.Tell(look)
		return found, nil
	}
	look.Reverted, look.Reason = true, again.Reason
	out, err := w.Job.Tuner.Undo(ctx, change.UndoRequest{IDs: []uint64{found.Outcome.Entry}, Reason: "auto: " + again.Reason})
	if bad, ok := out.FirstBad(); ok && err == nil {
		err = refused{bad}
	}
	if err != nil {
		return found, err
	}
	w.Tell(look)
	candidates, err := w.Candidates(ctx)
	if err != nil {
		return found, err
	}
	return w.search(ctx, candidates)
}

// against lets run measure what was kept, candidate 1, and what was before it, candidate
// 0, in a trial; it returns what it found, for the journal.
func (j *Job) against(ctx context.Context, found *Found, run func(context.Context, search.Measure) (string, error)) error {
	try := func(ctx context.Context, set change.SetCandidate) (string, error) {
		put := func(_ context.Context, candidate int) error { return set(change.All(1 - candidate)) }
		return run(ctx, j.measure(put, func(int) {}))
	}
	plan, err := j.Tuner.PlanTrial(ctx, [][]change.Request{asBefore(found)})
	if err != nil {
		return err
	}
	within := time.Duration(search.DefaultPeriods(2)) * Period * 2
	out, err := j.Tuner.Try(ctx, plan, change.Confirmation{Yes: j.Yes, RevertAfter: within + guardSlack}, try)
	if bad, ok := out.FirstBad(); ok && err == nil {
		err = refused{bad}
	}
	return err
}

// asBefore asks for what there was before a placement was kept: of a process as a whole,
// unless its threads differed.
func asBefore(found *Found) (out []change.Request) {
	reason := fmt.Sprintf("auto looks whether %s is still better", found.Kept.Name)
	type part struct {
		pid kernel.TID
		of  attr.Attribute
	}
	its := map[part][]change.Change{}
	var order []part
	for _, c := range found.Outcome.Changes {
		if c.Attribute == attr.Memory || c.Before == nil || c.Gone() {
			continue
		}
		if c.Attribute.OfFile() {
			out = append(out, change.Request{Files: []attr.FileSetting{attr.SetFile(c.Attribute, c.Path, c.Name, c.Before)}, Reason: reason})
			continue
		}
		p := part{c.PID, c.Attribute}
		if its[p] == nil {
			order = append(order, p)
		}
		its[p] = append(its[p], c)
	}
	for _, p := range order {
		all := its[p]
		differs := func(c change.Change) bool { return !p.of.Alike(c.Before, all[0].Before) }
		whole := slices.IndexFunc(found.targets, func(t change.Target) bool { return t.TID == p.pid })
		for _, c := range all {
			r := change.Request{Targets: []change.Target{{TID: c.TID, StartTicks: c.StartTicks, Scope: change.ScopeThread}},
				Set: []attr.Setting{{Attribute: p.of, Value: c.Before}}, Reason: reason}
			alike := whole >= 0 && !slices.ContainsFunc(all, differs)
			if alike {
				r.Targets[0] = found.targets[whole]
			}
			if out = append(out, r); alike {
				break
			}
		}
	}
	return out
}
