package bench

import (
	"fmt"
	"slices"
	"time"

	"piton/internal/chart"
)

// Forecast estimates how long a study will take.
type Forecast struct {
	Runs   int           // warm-up included
	Each   time.Duration // a run, with starting and placing it
	Work   float64       // seconds of the work in a run, 0 = not known
	Budget time.Duration // no longer than so; 0 = no limit
	Until  bool          // at least so long: until the intervals are narrow
	From   string        // what it was estimated from
}

// Total is the time of the whole study.
func (f Forecast) Total() time.Duration {
	total := f.Each * time.Duration(f.Runs)
	if f.Budget > 0 {
		total = min(total, f.Budget)
	}
	return total
}

// Sentence says so in words: "about 1:38 min for 44 runs (estimate from stored results)".
func (f Forecast) Sentence() string {
	word := "about"
	if f.Until {
		word = "at least"
	}
	text := fmt.Sprintf("%s %s for %s", word, chart.Clock(f.Total()), runs(f.Runs))
	if f.From == "" {
		return text
	}
	return text + " (estimate from " + f.From + ")"
}

// Forecast estimates the study's time from the last of the studies of the same work;
// ok is false when none of them tells.
func (s Study) Forecast(like []Results) (f Forecast, ok bool) {
	if s.Workload == AttachWorkload { // its periods are given
		return s.forecast(s.Period, 0, ""), true
	}
	for _, r := range slices.Backward(like) {
		if each, work, ok := r.pace(); ok {
			return s.forecast(each, work, "stored results"), true
		}
	}
	return Forecast{}, false
}

// Trial estimates the study's time from its first run.
func (s Study) Trial(first RunResult, took time.Duration) Forecast {
	return s.forecast(took, first.Seconds, "a trial run")
}

func (s Study) forecast(each time.Duration, work float64, from string) Forecast {
	return Forecast{Runs: s.Total(), Each: each, Work: work, Budget: s.Budget, Until: s.Until > 0, From: from}
}

// pace is the median time from the start of one run to that of the next, and the
// median seconds of the work.
func (r Results) pace() (each time.Duration, work float64, ok bool) {
	var steps, works []float64
	for i, run := range r.Runs {
		if run.Err == "" {
			works = append(works, run.Seconds)
		}
		if i > 0 {
			steps = append(steps, run.Started.Sub(r.Runs[i-1].Started).Seconds())
		}
	}
	work, ok = chart.Median(works)
	step, more := chart.Median(steps)
	if !more || step < work { // one run, or the clock was set back
		step = work
	}
	return time.Duration(step * float64(time.Second)), work, ok
}
