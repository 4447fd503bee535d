package auto

import (
	"fmt"
	"math"

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
