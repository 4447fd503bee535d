package runner

import (
	"slices"
	"time"

	"piton/internal/bench"
)

type slot struct {
	placement bench.Placement
	index     int
}

// rounds is how many rounds a study has at most, warm-up included.
func rounds(s bench.Study) int {
	if s.Until > 0 {
		return s.Warmup + bench.MaxRuns
	}
	return s.Warmup + s.Runs
}

// round is a round's runs. Placements are interleaved, and each round begins with the next one,
// A B C, B C A, C A B, so that neither drift nor the run before favours any.
func round(s bench.Study, i int) []slot {
	n := len(s.Placements)
	out := make([]slot, n)
	for k := range out {
		out[k] = slot{s.Placements[(i+k)%n], max(i-s.Warmup, bench.WarmupIndex)}
	}
	return out
}

// over reports whether a study may end before round i, of which there is at least
// one, because its budget is spent or, once it has its Runs, because every interval is as narrow as was
// asked for. That looks at how wide the intervals are and never at what the
// difference is, so it does not make one likelier to be found.
func over(s bench.Study, i int, spent time.Duration, soFar bench.Results) bool {
	if s.Budget > 0 && spent >= s.Budget {
		return i > 0
	}
	return s.Until > 0 && i >= s.Warmup+s.Runs && soFar.Narrow(s.Until)
}

// estimate is the time left, from the mean of the runs so far. Rounds are
// interleaved, so the mean weighs all placements alike.
type estimate struct {
	study bench.Study
	done  int
	spent time.Duration // since the study's start
}

func (e *estimate) add(run time.Duration) { e.done++; e.spent += run }

// total is how many runs there will be, as far as that is known.
func (e *estimate) total() int { return max(e.study.Total(), e.done) }

// remaining is the time until the last planned run, and no longer than the budget.
func (e *estimate) remaining() (left time.Duration, known bool) {
	if e.done == 0 {
		return 0, false
	}
	left = e.spent / time.Duration(e.done) * time.Duration(e.total()-e.done)
	budget := max(e.study.Budget-e.spent, 0)
	switch {
	case e.study.Until > 0 && e.total() == e.done: // until it is narrow, or the budget is spent
		return budget, e.study.Budget > 0
	case e.study.Budget > 0:
		left = min(left, budget)
	}
	return left, true
}

// missing are the runs of a round that have not been made.
func missing(r *bench.Results, n int) []slot {
	return slices.DeleteFunc(round(r.Study, n), func(s slot) bool {
		return s.index >= 0 && slices.ContainsFunc(r.Runs, func(run bench.RunResult) bool { return run.Placement == s.placement && run.Index == s.index })
	})
}
