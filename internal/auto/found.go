package auto

import (
	"fmt"
	"math"
	"time"

	"piton/internal/chart"
	"piton/internal/search"
)

// KeepNow is the cause with which a user ends the context of a search to have a candidate
// kept at once.
type KeepNow struct{ Candidate int }

func (k KeepNow) Error() string { return fmt.Sprintf("candidate %d is kept by hand", k.Candidate) }

// keepByHand makes the result of a search that is not finished that of the user.
func (f *Found) keepByHand(candidate int, names []string) {
	f.ByHand, f.Result.Kept = true, candidate
	f.Reason = fmt.Sprintf("%s kept by hand after %d periods", names[candidate], f.Periods)
	c := &f.Candidates[candidate]
	c.State, c.Reason = search.Kept, f.Reason
}

// normal95 is the two-sided 95 % point of the normal distribution.
const normal95 = 1.96

// Estimate is the rate of a candidate against the kernel's choice, as far as it is known.
type Estimate struct {
	Ratio        float64
	Low, High    float64 // its interval, where HaveInterval
	HaveInterval bool
}

// Against estimates the rate of a candidate against the kernel's choice: by fresh pairs
// once they were tested, else by all periods of the race, else by the medians. It is false
// until both have a period.
func Against(r *search.Result, candidate int) (Estimate, bool) {
	if candidate >= len(r.Candidates) {
		return Estimate{}, false
	}
	c := &r.Candidates[candidate]
	switch {
	case candidate == r.Finalist && candidate != 0 && !math.IsNaN(r.Effect):
		return Estimate{r.Effect, r.Low, r.High, r.HaveInterval}, true
	case len(c.Rates) == 0 || len(r.Candidates[0].Rates) == 0:
		return Estimate{}, false
	case candidate == 0:
		return Estimate{Ratio: 1}, true
	case !math.IsNaN(c.Level):
		by := normal95 * c.Error
		return Estimate{math.Exp(c.Level), math.Exp(c.Level - by), math.Exp(c.Level + by), true}, true
	}
	return Estimate{Ratio: math.Exp(search.LogRatio(c.Median(), r.Candidates[0].Median()))}, true
}

// Gain is what is gained alone: "+12.3 %".
func (e Estimate) Gain() string { return fmt.Sprintf("%+.1f %%", percent(e.Ratio)) }

// String is what is gained, with the interval: "+12.3 % (+8.1 to +15.9)".
func (e Estimate) String() string {
	text := e.Gain()
	if e.HaveInterval {
		text += fmt.Sprintf(" (%+.1f to %+.1f)", percent(e.Low), percent(e.High))
	}
	return text
}

// gain is what the finalist gained over the kernel's choice, or what was kept by hand, in
// words: "+12.3 % (+8.1 to +15.9) of instructions".
func (f *Found) gain(metric string) string {
	of := f.Finalist
	if f.ByHand {
		of = f.Result.Kept
	}
	if e, known := Against(&f.Result, of); known {
		return e.String() + " of " + metric
	}
	return "not measured"
}

// Sentence says what was decided of the candidates, by the metric.
func (f *Found) Sentence(candidates []Candidate, metric string) string {
	after := fmt.Sprintf("after %d periods in %.0f s", f.Periods, f.Took.Seconds())
	cpus := f.Kept.CPUs
	if cpus.Empty() { // it sets something else
		cpus = candidates[0].CPUs
	}
	switch {
	case f.Kept.Name != Kernel && f.ByHand:
		return fmt.Sprintf("Kept by hand, not proved: %s, CPUs %s: %s, %s.", f.Kept.Name, cpus, f.gain(metric), after)
	case f.Kept.Name != Kernel:
		return fmt.Sprintf("Kept: %s, CPUs %s: %s, %s.", f.Kept.Name, cpus, f.gain(metric), after)
	case f.Finalist != 0 && !math.IsNaN(f.Effect):
		return fmt.Sprintf("Nothing is better than what the kernel does, %s: %s is %s. Everything is as it was.",
			after, candidates[f.Finalist].Name, f.gain(metric))
	}
	return fmt.Sprintf("Nothing is better than what the kernel does, %s. Everything is as it was.", after)
}

// percent is by how much a ratio is above 1.
func percent(ratio float64) float64 { return 100 * (ratio - 1) }

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

// Known is what is known of a candidate; nil before the first period.
func (s *State) Known(n int) *search.Candidate {
	if n < len(s.Now.Candidates) {
		return &s.Now.Candidates[n]
	}
	return nil
}

// Reason is why a candidate may be better, and what has become of it.
func (s *State) Reason(n int) string {
	c, is := s.Candidates[n], s.Known(n)
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
