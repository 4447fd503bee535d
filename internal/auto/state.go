package auto

import (
	"fmt"
	"time"

	"piton/internal/chart"
	"piton/internal/search"
)

// State is how far a search is, for those who look on. Candidates come first, then the
// metric, then periods.
type State struct {
	Job              *Job // nil until it is prepared
	Candidates, Left []Candidate
	Metric, Caveat   string // "" until one is found
	Warning          string // what could not be looked at
	Now              search.Result
	Found            *Found // once it has ended, also early
}

// Leader is the candidate that is ahead: what was kept, the finalist, or the best that is
// not out; 0 if none is better than the kernel's choice.
func (s *State) Leader() int {
	best, ratio := 0, 1.0
	for i := range s.Now.Candidates {
		switch c := &s.Now.Candidates[i]; c.State {
		case search.Kept, search.Finalist:
			return i
		case search.Racing:
			if e, known := Against(&s.Now, i); known && e.Ratio > ratio {
				best, ratio = i, e.Ratio
			}
		}
	}
	return best
}

// TimeLeft is how long the search takes at most.
func (s *State) TimeLeft() time.Duration {
	return time.Duration(s.Now.Budget-s.Now.Periods) * Period
}

// Phase says what is done now.
func (s *State) Phase() string {
	now := &s.Now
	switch {
	case len(s.Candidates) == 0:
		return "looking at load and wakeups…"
	case s.Metric == "":
		return "looking for a rate to judge by…"
	case now.Finalist != 0:
		text := fmt.Sprintf("confirmation: %s and the kernel's choice in fresh pairs, %d so far", s.Candidates[now.Finalist].Name, len(now.Pairs))
		if now.P < 1 {
			text += fmt.Sprintf(", p = %.2g", now.P)
		}
		return text
	case now.Rounds > 0:
		return fmt.Sprintf("race: round %d, each candidate in turn, what is clearly worse is out", now.Rounds)
	}
	return "lead: the kernel's choice alone, to see how much the rate varies"
}

// Standing is what is known of a candidate; nil before the first period.
func (s *State) Standing(n int) *search.Candidate {
	if n < len(s.Now.Candidates) {
		return &s.Now.Candidates[n]
	}
	return nil
}

// Reason is why a candidate may be better, and what has become of it.
func (s *State) Reason(n int) string {
	c, is := s.Candidates[n], s.Standing(n)
	text := c.Name + ": " + c.Reason
	switch {
	case is == nil || is.Reason == "":
		return text
	case is.State == search.Kept:
		return text + "; " + is.Reason
	}
	return text + "; " + is.State.String() + ": " + is.Reason
}

// Effects are the candidates' rates against the kernel's choice.
func (s *State) Effects() chart.Effects {
	out := chart.Effects{Worse: "worse", Better: "better", Rows: make([]chart.EffectRow, len(s.Candidates))}
	for n := range out.Rows {
		if e, known := Against(&s.Now, n); known {
			out.Rows[n] = chart.EffectRow{Value: e.Ratio - 1, Low: e.Low - 1, High: e.High - 1, HaveInterval: e.HaveInterval}
		} else {
			out.Rows[n].Remark = "–"
		}
	}
	return out
}
