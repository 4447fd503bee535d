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

// widest is the end of an interval, as a ratio, from which it is not drawn: it is that of
// one or two periods, and would squeeze everything else.
const widest = 4

// Strips are the periods of all candidates in percent of the kernel's median.
func (s *State) Strips() chart.Strips {
	out := chart.Strips{Unit: "%", Least: 2, Strips: make([]chart.Strip, len(s.Candidates))}
	for n := range out.Strips {
		e, known := Against(&s.Now, n)
		if !known {
			continue
		}
		strip := chart.Strip{Median: percent(e.Ratio), Low: percent(e.Low), High: percent(e.High), HaveInterval: e.HaveInterval && e.High < widest}
		for _, rate := range s.Now.Candidates[n].Rates {
			if usual := s.Now.Candidates[0].Median(); usual > 0 {
				strip.Points = append(strip.Points, percent(rate/usual))
			}
		}
		out.Strips[n] = strip
	}
	return out
}
