package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
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
	mostLost = 0.073
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
		if err := s.rank(ctx); err != nil {
			return err
		}
	}
}

// dilute measures the default until a further period of the next candidate is affordable.
// It uses no periods of the budget that are needed.
func (s *searcher) dilute(ctx context.Context, next, needed int) error {
	if s.result.Rounds == 1 {
		s.estimateLevels()
	}
	for !s.affordable(next) && s.left() > needed {
		if _, err := s.take(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// affordable reports whether the process, with a further period of a candidate, has lost at
// most mostLost of its work over the search.
func (s *searcher) affordable(next int) bool {
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
	return float64(s.result.Periods+1)*mostLost >= lost
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
// What would be out after its first period has another one before.
func (s *searcher) rank(ctx context.Context) error {
	fitted := s.estimateLevels()
	s.pairSD = fitted.pairSD()
	leader := s.leader()
	s.say(Ranked, leader)
	first := s.result.Rounds == 1
	alone := len(s.result.Candidates) == 2
	if alone && first {
		return nil // a burst in its only period is no reason
	}
	errors := dropErrors
	if alone || first {
		errors = firstDropErrors
	}
	if s.result.Rounds <= 2 {
		leader = 0
	}
	if first {
		if err := s.lookAgain(ctx, s.below(fitted, leader, errors)); err != nil {
			return err
		}
		fitted = s.estimateLevels()
	}
	for _, c := range s.below(fitted, leader, errors) {
		than := s.name(0)
		if leader != 0 {
			than = s.name(leader)
		}
		s.out(c, Out, fmt.Sprintf("round %d: %s against %s (standard error %.1f %%)",
			s.result.Rounds, percent(fitted.of[c]-fitted.of[leader]), than, 100*fitted.errorOf(leader, c)))
	}
	return nil
}

// below are the racing candidates that are below the leader by more than so many standard
// errors of the difference.
func (s *searcher) below(fitted levels, leader int, errors float64) []int {
	return slices.DeleteFunc(s.racing(), func(c int) bool {
		return c == leader || fitted.of[leader]-fitted.of[c] <= errors*fitted.errorOf(leader, c)
	})
}

// lookAgain measures candidates that the first round has one period of once more, the best
// first, as far as what the process loses allows. The first period is then left out of the
// estimate: where both agree nothing changes, and where they do not the process stood still
// in the first, as machines that are emulated or starved do for a period.
func (s *searcher) lookAgain(ctx context.Context, candidates []int) error {
	slices.SortFunc(candidates, func(a, b int) int {
		return cmp.Compare(s.result.Candidates[b].Level, s.result.Candidates[a].Level)
	})
	for _, c := range candidates {
		racing := len(s.racing())
		if err := s.dilute(ctx, c, racing+racing/defaultEvery+2*leastPairs); err != nil {
			return err
		}
		if !s.affordable(c) || s.left() <= 2*leastPairs {
			return nil
		}
		s.periods = slices.DeleteFunc(s.periods, func(p period) bool { return p.candidate == c })
		if _, err := s.take(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
