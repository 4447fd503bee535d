// Package search decides which of n candidate placements of a live process is kept.
// Candidate 0 is the default: the kernel's own choice. It is pure: the caller places
// and measures; search chooses the order, stops early and judges. It never keeps a
// candidate on the readings that selected it.
//
// A search has three parts, all counted in periods (one reading of one candidate,
// 200 ms are recommended, FACTS §8):
//
//  1. The lead: periods of the default alone, which show the noise.
//  2. The race: rounds in random order with periods of the default between them, as many as
//     keep the loss of the process below 8 %. After each round, a robust regression drops
//     what is worse than the leader (levels.go, race.go).
//  3. The confirmation: fresh pairs of the default and the leader, their order tossed,
//     judged by exact signed-rank tests at a group-sequential boundary (confirm.go).
//
// Start at Run; Drift goes on after a decision.
package search

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// Options of a search. The zero value is ready for use.
type Options struct {
	Seed uint64 // of the random orders
	// MaxPeriods is the budget. 0 is DefaultPeriods; less than LeastPeriods is an error.
	MaxPeriods int
	Names      []string // of the candidates, for reasons; nil: by number
}

const (
	// raceShare is the part of the budget that the race may use. In simulated worlds
	// 0.5 and 0.7 found the best within one percentage point as often.
	raceShare = 0.6
	// leastPairs is the smallest confirmation: nine pairs of one sign stop it.
	leastPairs = 12
	// usualPairs is the smallest one planned where the budget allows it: the noise of a default
	// that is now fast and now slow, as that of a wandering task is, may not show in the race.
	usualPairs = 28
)

// leadPeriods are those of the default before the race of n candidates. They show the
// noise before single periods are judged.
func leadPeriods(n int) int { return max(8, 4+3*n/5) }

// DefaultPeriods is the budget for n candidates, the default included: 130 up to 8 (26 s
// of 200 ms), then 15 for each more. Most searches end earlier.
func DefaultPeriods(n int) int { return 130 + 15*max(n-8, 0) }

// LeastPeriods is the smallest budget for n candidates: one round of the race and the
// smallest confirmation. A search in so few may cost the process more than 8 %.
func LeastPeriods(n int) int {
	return leadPeriods(n) + 2*(n-1) + 2*leastPairs
}

// Measure places a candidate, lets it settle, and measures one period.
type Measure func(ctx context.Context, candidate int) (Reading, error)

// Run searches n candidates, the default included, and calls tell, unless it is nil, after
// every period and every change of a candidate's state. An error of measure (the task
// ended, say), a rate that is negative or not finite, and the end of ctx end the search:
// the error is returned with what was found so far, and the default is kept. Run leaves
// no placement behind: the caller puts Result.Kept in force.
func Run(ctx context.Context, n int, o Options, measure Measure, tell func(Event)) (Result, error) {
	if n < 1 {
		return Result{}, fmt.Errorf("search of %d candidates: the default is missing", n)
	}
	if o.MaxPeriods == 0 {
		o.MaxPeriods = DefaultPeriods(n)
	}
	if least := LeastPeriods(n); n > 1 && o.MaxPeriods < least {
		return Result{}, fmt.Errorf("search of %d candidates in %d periods: at least %d are needed", n, o.MaxPeriods, least)
	}
	s := &searcher{
		rng:     rand.New(rand.NewPCG(o.Seed, 0)),
		names:   o.Names,
		measure: measure,
		tell:    tell,
		result:  newResult(n, o.MaxPeriods),
	}
	err := s.run(ctx)
	if err != nil {
		s.result.Reason = s.name(0) + " kept: search not finished"
		err = fmt.Errorf("search, period %d of %d at most: %w", s.result.Periods+1, o.MaxPeriods, err)
	} else {
		s.settle()
	}
	s.say(Decided, s.result.Kept)
	return s.result, err
}

// searcher is one search under way.
type searcher struct {
	rng     *rand.Rand
	names   []string
	measure Measure
	tell    func(Event)
	result  Result
	periods []period // all of them, in order
	last    Reading
	pairSD  float64 // standard deviation of a pair's log ratio, as the race saw it
}

func (s *searcher) run(ctx context.Context) error {
	if len(s.result.Candidates) == 1 {
		s.result.Reason = s.name(0) + " kept: no other candidate"
		return nil
	}
	if err := s.race(ctx); err != nil {
		return err
	}
	alone := len(s.result.Candidates) == 2
	for {
		finalist := s.leader()
		if racing := s.racing(); alone && len(racing) > 0 {
			finalist = racing[0] // two rounds show too little of a small gain
		}
		if finalist == 0 {
			switch {
			case s.result.Reason != "":
			case alone:
				s.result.Reason = fmt.Sprintf("%s kept: %s: %s", s.name(0), s.name(1), s.result.Candidates[1].Reason)
			default:
				s.result.Reason = s.name(0) + " kept: no candidate led the race"
			}
			return nil
		}
		violated, err := s.confirm(ctx, finalist)
		if err != nil || !violated {
			return err
		}
		if s.left() < 2*leastPairs {
			return nil
		}
	}
}

// settle gives the candidates still racing, and the default, the states that the decision
// leaves them.
func (s *searcher) settle() {
	for _, c := range s.racing() {
		s.out(c, Out, fmt.Sprintf("%s against %s after round %d, not the leader",
			percent(s.result.Candidates[c].Level), s.name(0), s.result.Rounds))
	}
	kept := s.result.Kept
	if kept != 0 {
		s.out(0, Out, s.name(kept)+" is better")
		return
	}
	s.result.Candidates[0].State, s.result.Candidates[0].Reason = Kept, s.result.Reason
}

// name is what a candidate is called in a reason.
func (s *searcher) name(candidate int) string {
	switch {
	case candidate < len(s.names):
		return s.names[candidate]
	case candidate == 0:
		return "the default"
	}
	return fmt.Sprintf("candidate %d", candidate)
}

// left is the number of periods left of the budget.
func (s *searcher) left() int { return s.result.Budget - s.result.Periods }

// take measures one period. Of a violated guardrail only candidates are out: the
// default is what there was before.
func (s *searcher) take(ctx context.Context, candidate int) (Reading, error) {
	if err := context.Cause(ctx); err != nil {
		return Reading{}, err
	}
	r, err := s.measure(ctx, candidate)
	if err != nil {
		return Reading{}, fmt.Errorf("%s: %w", s.name(candidate), err)
	}
	if !(r.Rate >= 0) || math.IsInf(r.Rate, 1) {
		return Reading{}, fmt.Errorf("%s: %g is no rate", s.name(candidate), r.Rate)
	}
	s.periods = append(s.periods, period{candidate: candidate, rate: r.Rate})
	s.result.Periods++
	c := &s.result.Candidates[candidate]
	c.Rates = append(c.Rates, r.Rate)
	s.last = r
	s.say(Measured, candidate)
	if r.Violated && candidate != 0 {
		s.out(candidate, Violated, "guardrail violated")
	}
	return r, nil
}

// out ends a candidate's part in the search.
func (s *searcher) out(candidate int, state State, reason string) {
	c := &s.result.Candidates[candidate]
	c.State, c.OutRound, c.Reason = state, s.result.Rounds, reason
	s.say(Eliminated, candidate)
}

func (s *searcher) say(kind EventKind, candidate int) {
	if s.tell == nil {
		return
	}
	e := Event{Kind: kind, Candidate: candidate, Now: s.result.clone()}
	if kind == Measured {
		e.Reading = s.last
	}
	s.tell(e)
}
