package search

import (
	"fmt"
	"math"
	"slices"

	"piton/internal/chart"
)

// Reading is one period of one candidate.
type Reading struct {
	Rate     float64 // units of the caller's metric per second; 0 is a rate
	Violated bool    // a guardrail was hurt: the candidate is out
}

// State is where a candidate stands.
type State int

// The states of a candidate. The default is Racing until the search is decided.
const (
	Racing   State = iota
	Out            // worse than the leader, or not confirmed
	Violated       // hurt a guardrail
	Finalist       // in fresh pairs against the default
	Kept
)

func (s State) String() string {
	return [...]string{"racing", "out", "violated", "finalist", "kept"}[s]
}

// Candidate is what a search knows of one candidate. Level and Error come from all
// periods, those that selected included: they rank and show, they decide nothing.
type Candidate struct {
	Rates    []float64 // by period, in order
	Level    float64   // estimated log ratio to the default; NaN before a first round
	Error    float64   // standard error of Level
	Pairs    int       // fresh pairs measured
	State    State
	OutRound int    // round of the race in which it went out, 0 before the first or while in
	Reason   string // for a State of Out, Violated or Kept
}

// Median is the median rate of its periods, NaN without one.
func (c *Candidate) Median() float64 {
	if len(c.Rates) == 0 {
		return math.NaN()
	}
	return chart.Middle(c.Rates)
}

// Result is what a search decided, or knows so far.
type Result struct {
	Kept   int    // 0 is the default
	Reason string // why, in words; empty while undecided
	// Finalist is the candidate that Effect, Low, High, P and Pairs are of: the last
	// one confirmed against the default; 0 if there was none.
	Finalist int
	// Effect is the ratio of the finalist's rate to the default's, from fresh pairs only
	// (Hodges-Lehmann). Low to High is its interval where HaveInterval, at
	// Confidence. It is above 1 if and only if the finalist is kept, but for ties.
	Effect, Low, High, Confidence float64
	HaveInterval                  bool
	P                             float64   // one-sided, exact, at the last look; 1 without one
	Pairs                         []float64 // log ratios of the fresh pairs, in order
	Rounds                        int       // of the race
	Periods, Budget               int       // measured, and allowed at most
	Candidates                    []Candidate
}

func newResult(n, budget int) Result {
	r := Result{Budget: budget, Effect: math.NaN(), P: 1, Candidates: make([]Candidate, n)}
	for i := range r.Candidates {
		r.Candidates[i].Level, r.Candidates[i].Error = math.NaN(), math.NaN()
	}
	r.Candidates[0].Level, r.Candidates[0].Error = 0, 0
	return r
}

// clone shares rates and pairs, which only grow.
func (r *Result) clone() Result {
	c := *r
	c.Candidates = slices.Clone(r.Candidates)
	return c
}

// EventKind is what an Event is about.
type EventKind int

// The kinds of events.
const (
	Measured   EventKind = iota // one period of Candidate, with its Reading
	Eliminated                  // Candidate went out; why is in Now
	Ranked                      // a round ended: the levels are new; Candidate leads
	Selected                    // Candidate is the finalist
	Looked                      // the pairs so far were tested: P and Effect are new
	Decided                     // the last event of a search; Candidate is kept
)

// Event is one step of a search, with all that is known after it.
type Event struct {
	Kind      EventKind
	Candidate int
	Reading   Reading // of kind Measured
	Now       Result
}

// percent writes a log ratio as people read it.
func percent(logRatio float64) string {
	return fmt.Sprintf("%+.1f %%", 100*math.Expm1(logRatio))
}
