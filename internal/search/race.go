package search

import (
	"context"
	"fmt"
	"math"
)

const (
	// dropErrors is by how many standard errors of the difference a candidate is below
	// the leader when it is dropped. 1.7 found the best as often, 2.5 in one of 100 worlds
	// less.
	dropErrors = 2.0
	// firstDropErrors is for what has one period, in the first round, and for one that is
	// compared with the default alone.
	firstDropErrors = 3.0
	// defaultEvery is the number of candidates' periods after which the default has one.
	// In the first round every second period is the default's: most of what candidates
	// can lose is lost there.
	defaultEvery = 2
	// mostLost is the share of its work that the race may cost a process: 8 %, less what the
	// levels are off by.
	mostLost = 0.078
	// unknownLoss is what a period of a candidate may lose that was not measured before: all.
	unknownLoss = 1.0
)

// race measures rounds and drops candidates until one is left, none is, or the race's
// part of the budget is used. The last one leads.
func (s *searcher) race(ctx context.Context) error {
	n := len(s.result.Candidates)
	for range leadPeriods(n) {
		if _, err := s.take(ctx, 0); err != nil {
			return err
		}
	}
	share := min(int(raceShare*float64(s.result.Budget)), s.result.Budget-2*leastPairs)
	budget := max(share, leadPeriods(n)+2*(n-1))
	for {
		racing := s.racing()
		every := defaultEvery
		if s.result.Rounds == 0 {
			every = 1
		}
		cost := len(racing) + (len(racing)+every-1)/every
		settled := len(racing) == 1 && s.result.Rounds > 1
		if len(racing) == 0 || settled || s.result.Periods+cost > budget {
			return nil
		}
		s.result.Rounds++
		s.rng.Shuffle(len(racing), func(i, j int) { racing[i], racing[j] = racing[j], racing[i] })
		for i, c := range racing {
			if i%every == 0 {
				if _, err := s.take(ctx, 0); err != nil {
					return err
				}
			}
			rest := len(racing) - i
			needed := rest + rest/every + 2*leastPairs
			if err := s.dilute(ctx, c, needed); err != nil {
				return err
			}
			if _, err := s.take(ctx, c); err != nil {
				return err
			}
		}
		s.rank()
	}
}

// dilute measures the default until the process, with a further period of the next candidate,
// has lost at most mostLost of its work over the search. It uses no periods of the budget
// that are needed.
func (s *searcher) dilute(ctx context.Context, next, needed int) error {
	if s.result.Rounds == 1 {
		s.estimateLevels()
	}
	lost := 0.0
	for c, is := range s.result.Candidates {
		periods, loss := len(is.Rates), -math.Expm1(is.Level)
		if periods == 0 {
			loss = unknownLoss
		}
		if c == next {
			periods++
		}
		lost += float64(periods) * loss
	}
	for float64(s.result.Periods+1)*mostLost < lost && s.left() > needed {
		if _, err := s.take(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// racing are the candidates not out, without the default.
func (s *searcher) racing() []int {
	var racing []int
	for c := 1; c < len(s.result.Candidates); c++ {
		if s.result.Candidates[c].State == Racing {
			racing = append(racing, c)
		}
	}
	return racing
}

// leader is the racing candidate with the highest level, 0 if none is above the default.
func (s *searcher) leader() int {
	best, level := 0, 0.0
	for _, c := range s.racing() {
		if l := s.result.Candidates[c].Level; l > level {
			best, level = c, l
		}
	}
	return best
}

// estimateLevels estimates the levels of all candidates from all periods.
func (s *searcher) estimateLevels() levels {
	fitted := fit(s.periods, len(s.result.Candidates))
	for c := range s.result.Candidates {
		if !math.IsNaN(fitted.of[c]) {
			s.result.Candidates[c].Level, s.result.Candidates[c].Error = fitted.of[c], fitted.errorOf(c, 0)
		}
	}
	return fitted
}

// rank estimates the levels after a round and drops what is clearly below the leader,
// which may be the default. In the first two rounds it is: one or two periods of a candidate
// lead by chance, or because what a stalled metric had not counted is counted in one.
func (s *searcher) rank() {
	fitted := s.estimateLevels()
	s.pairSD = fitted.pairSD()
	leader := s.leader()
	s.say(Ranked, leader)
	alone := len(s.result.Candidates) == 2
	if alone && s.result.Rounds == 1 {
		return // a burst in its only period is no reason
	}
	errors := dropErrors
	if alone || s.result.Rounds == 1 {
		errors = firstDropErrors
	}
	if s.result.Rounds <= 2 {
		leader = 0
	}
	for _, c := range s.racing() {
		below, e := fitted.of[leader]-fitted.of[c], fitted.errorOf(leader, c)
		if c == leader || below <= errors*e {
			continue
		}
		than := s.name(0)
		if leader != 0 {
			than = s.name(leader)
		}
		s.out(c, Out, fmt.Sprintf("round %d: %s against %s (standard error %.1f %%)",
			s.result.Rounds, percent(-below), than, 100*e))
	}
}
