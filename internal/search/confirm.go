package search

import (
	"context"
	"fmt"
	"math"

	"piton/internal/bench/stats"
	"piton/internal/chart"
)

const (
	// Alpha is the chance that a candidate that changes nothing is kept, one-sided, over
	// all looks.
	Alpha = 0.025
	// looks are the tests of one confirmation, after equal numbers of pairs.
	looks = 4
	// boundary is O'Brien and Fleming's constant for four looks at Alpha (Jennison &
	// Turnbull, Group Sequential Methods, 2000, table 2.3). TestConfirmationLevel
	// measures what exact signed-rank tests at its levels add up to.
	boundary = 2.024
	// futile is the chance of success, if the trend goes on, below which a confirmation
	// ends early, but not at the first look, whose few pairs show no trend: one burst is
	// enough. It only ever keeps the default, and so costs no level.
	futile = 0.01
)

// level is the level of the signed-rank test at a look, from 1: 0.00003, 0.0021, 0.0097
// and 0.0215.
func level(look int) float64 {
	return stats.NormalTail(boundary * math.Sqrt(float64(looks)/float64(look)))
}

// plannedPairs is how many pairs a confirmation has at most: those that find a third of the
// effect that the race saw in 95 of 100 cases, in the noise that the race saw. Fixed
// before the first fresh pair. The leader of many looks better than it is, and bursts are
// not in that noise: with half instead of a third, a +10 % of 3 to 20 candidates was found
// in 82 % of rough worlds, not 86 %; a quarter found no more, by 4 % more periods.
func (s *searcher) plannedPairs(finalist int) int {
	most := s.left() / 2
	if len(s.result.Candidates) == 2 {
		return min(most, soloPairs)
	}
	third := s.result.Candidates[finalist].Level / 3
	need := (boundary + stats.NormalQuantile(0.95)) * s.pairSD / third
	return int(min(max(math.Ceil(need*need), usualPairs), float64(most)))
}

// soloPairs is the plan where no race showed effect and noise: they find an effect of 0.55
// standard deviations of a pair in 95 of 100 cases.
const soloPairs = 44

// confirm compares the finalist with the default on fresh pairs, a coin deciding which
// of a pair is first: where placement does not matter, each sign is that coin's, and
// the test is exact in any noise, drifting and autocorrelated noise included. It
// reports whether the finalist violated a guardrail, so that another may follow: the
// level stays Alpha where violations do not depend on the rate, and is below twice that
// otherwise.
func (s *searcher) confirm(ctx context.Context, finalist int) (violated bool, err error) {
	f := &s.result.Candidates[finalist]
	f.State = Finalist
	s.result.Finalist, s.result.Pairs, s.result.P = finalist, nil, 1
	planned := s.plannedPairs(finalist)
	s.say(Selected, finalist)
	for look := 1; ; look++ { // judge decides at the last
		for len(s.result.Pairs) < planned*look/looks {
			violated, err := s.pair(ctx, finalist)
			if violated {
				s.result.Reason = fmt.Sprintf("%s kept: %s violated a guardrail", s.name(0), s.name(finalist))
			}
			if violated || err != nil {
				return violated, err
			}
			if s.worse(finalist) {
				_, shown := s.test(finalist, look)
				s.drop(finalist, shown)
				return false, nil
			}
		}
		if s.judge(finalist, look) {
			return false, nil
		}
	}
}

// worse reports whether all periods so far, not the fresh pairs only, show the finalist
// clearly below the default. It only ever keeps the default, and so costs no level.
func (s *searcher) worse(finalist int) bool {
	if chart.Mean(s.result.Pairs) >= 0 {
		return false
	}
	s.estimateLevels()
	f := &s.result.Candidates[finalist]
	return -f.Level > firstDropErrors*f.Error
}

// pair measures one fresh pair.
func (s *searcher) pair(ctx context.Context, finalist int) (violated bool, err error) {
	order := [2]int{0, finalist}
	if s.rng.IntN(2) == 1 {
		order = [2]int{finalist, 0}
	}
	var rates [2]float64 // of the default and the finalist
	for _, c := range order {
		r, err := s.take(ctx, c)
		if err != nil {
			return false, err
		}
		if s.result.Candidates[finalist].State == Violated {
			return true, nil
		}
		rates[min(c, 1)] = r.Rate
	}
	s.result.Pairs = append(s.result.Pairs, LogRatio(rates[1], rates[0]))
	s.result.Candidates[finalist].Pairs++
	return false, nil
}

// judge looks at the pairs so far and reports whether the search is decided.
func (s *searcher) judge(finalist, look int) bool {
	better, shown := s.test(finalist, look)
	r := &s.result
	switch {
	case better:
		f := &r.Candidates[finalist]
		f.State, f.Reason, r.Kept = Kept, shown, finalist
		r.Reason = fmt.Sprintf("%s kept: %s", s.name(finalist), shown)
		return true
	case look == looks || look > 1 && conditionalPower(r.P, look) < futile:
		s.drop(finalist, shown)
		return true
	}
	return false
}

// test is the test of a look, and in words what it shows.
func (s *searcher) test(finalist, look int) (better bool, shown string) {
	r := &s.result
	r.P = stats.SignedRank(r.Pairs)
	better = r.P <= level(look)
	r.estimate(look, better)
	s.say(Looked, finalist)
	return better, fmt.Sprintf("%s over %d fresh pairs, p = %.2g", percent(math.Log(r.Effect)), len(r.Pairs), r.P)
}

// drop keeps the default, by what the pairs have shown.
func (s *searcher) drop(finalist int, shown string) {
	s.out(finalist, Out, fmt.Sprintf("not better than %s: %s", s.name(0), shown))
	s.result.Reason = fmt.Sprintf("%s kept: %s: %s", s.name(0), s.name(finalist), shown)
}

// estimate sets the effect and its interval, at the level of the look that decided for
// the finalist, else at that of the last look.
func (r *Result) estimate(look int, better bool) {
	if !better {
		look = looks
	}
	r.Confidence = 1 - 2*level(look)
	center, low, high, ok := stats.Center(r.Pairs, r.Confidence)
	r.Effect, r.HaveInterval = math.Exp(center), ok
	if ok {
		r.Low, r.High = math.Exp(low), math.Exp(high)
	}
}

// conditionalPower is the chance that the last look rejects if the trend so far goes on
// (Jennison & Turnbull, section 10.2, with the normal score of p).
func conditionalPower(p float64, look int) float64 {
	t := float64(look) / looks
	score := -stats.NormalQuantile(min(max(p, 1e-9), 1-1e-9))
	expected := score / math.Sqrt(t) // at the last look
	return stats.NormalTail((boundary - expected) / math.Sqrt(1-t))
}
