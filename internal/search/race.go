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
	// firstDropErrors is for the first round, which has one period of each candidate.
	firstDropErrors = 3.0
	// defaultEvery is the number of candidates' periods after which the default has one.
	// In the first round every second period is the default's: most of what candidates
	// can lose is lost there.
	defaultEvery = 2
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
			if _, err := s.take(ctx, c); err != nil {
				return err
			}
		}
		s.rank()
	}
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
// Of two candidates in all there is no race and no level: the one leads.
func (s *searcher) leader() int {
	best, level := 0, 0.0
	for _, c := range s.racing() {
		if l := s.result.Candidates[c].Level; l > level || s.result.Rounds == 0 {
			best, level = c, l
		}
	}
	return best
}

// rank estimates the levels after a round and drops what is clearly below the leader,
// which may be the default.
func (s *searcher) rank() {
	fitted := fit(s.periods, len(s.result.Candidates))
	for c := range s.result.Candidates {
		if !math.IsNaN(fitted.of[c]) {
			s.result.Candidates[c].Level, s.result.Candidates[c].Error = fitted.of[c], fitted.errorOf(c, 0)
		}
	}
	s.pairSD = fitted.pairSD()
	leader := s.leader()
	s.say(Ranked, leader)
	errors := dropErrors
	if s.result.Rounds == 1 {
		errors = firstDropErrors
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
