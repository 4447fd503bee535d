package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/change"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/search"
	"piton/workloads"
)

// Searcher makes the cells of automatic: a workload works endlessly, piton auto's search is
// made for it, all candidates are tried to find the best, and then the kernel's placement,
// the best other one and what the search would keep are compared, interleaved.
//
// All of that is one trial of the change path: one entry of the journal, reverted at its end.
type Searcher struct {
	Runner *runner.Runner
	// Prepare chooses the candidates for processes. The Job is without a Metric.
	Prepare func(ctx context.Context, targets []change.Target) (auto.Job, error)
}

// The placements of a cell, beside bench.Normal.
const (
	manualBest bench.Placement = "manual" // the best of all candidates but the kernel's
	byAuto     bench.Placement = "auto"   // what the search keeps, where it is neither
)

var searchedPlacements = []bench.Placement{bench.Normal, manualBest, byAuto}

const (
	// startPoll is how often it is looked whether a workload works yet.
	startPoll = 100 * time.Millisecond
	// periodTime is a period with what is between two of them.
	periodTime = auto.Period + 15*time.Millisecond
	// All candidates are tried in so many rounds to find the best.
	leastTries, mostTries = 3, 10
	// The placements are compared in so many rounds; an interval takes six.
	leastCompared, mostCompared = 6, 30
)

// Cell makes a cell; see Maker.
func (s *Searcher) Cell(ctx context.Context, study bench.Study, within time.Duration, tell func(bench.RunResult)) ([]bench.RunResult, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c := &searchCell{Searcher: s, study: study, until: time.Now().Add(within)}
	work, err := s.Runner.StartEndless(ctx, study, stop)
	if err != nil {
		return nil, err
	}
	defer work.End()
	c.pid = work.PID
	c.tell = func(p bench.Placement) { tell(bench.RunResult{Placement: p, PID: c.pid}) }
	c.tell(bench.Normal)
	targets, err := c.targets(ctx)
	if err != nil {
		return nil, err
	}
	metric, err := c.metric(ctx, work, targets)
	if err != nil {
		return nil, err
	}
	defer metric.Close()
	if err := moves(ctx, metric); err != nil {
		return nil, err
	}
	if c.job, err = s.Prepare(ctx, targets); err != nil {
		return nil, err
	}
	c.job.Metric, c.job.Candidates = metric, ofTargets(targets, c.job.Candidates)
	least := leastSearched(len(c.job.Candidates))
	if limit, ok := ctx.Deadline(); ok && time.Until(limit) < least*2/3 { // most searches end earlier than they may
		return nil, errNoTime
	}
	err = c.job.Trial(ctx, 2*max(time.Until(c.until), least), c.trial)
	return c.runs, err
}

// leastSearched is how long a cell of n candidates takes at least.
func leastSearched(n int) time.Duration {
	return time.Duration(search.LeastPeriods(n)+leastAfter(n)) * periodTime
}

// leastAfter is how many periods at least follow the search of n candidates.
func leastAfter(n int) int { return leastTries*n + leastCompared*2 }

type searchCell struct {
	*Searcher
	study bench.Study
	until time.Time
	tell  func(bench.Placement)
	pid   kernel.TID
	job   auto.Job
	found searched
	runs  []bench.RunResult
}

// targets are the processes of the workload: itself or, where those do the work, the further
// ones that it has started, once there are no more of them than a moment before.
func (c *searchCell) targets(ctx context.Context) ([]change.Target, error) {
	w, err := workloads.Find(c.study.Workload)
	if err != nil || w.Process == nil {
		return []change.Target{{TID: c.pid}}, err
	}
	for before := 0; ; {
		if err := runner.Pause(ctx, startPoll); err != nil {
			return nil, err
		}
		pids, err := c.Runner.Proc.Processes()
		if err != nil {
			return nil, err
		}
		var out []change.Target
		for _, pid := range pids {
			if st, err := c.Runner.Proc.Stat(pid); err == nil && st.PPID == c.pid {
				out = append(out, change.Target{TID: pid})
			}
		}
		if len(out) > 0 && len(out) == before {
			return out, nil
		}
		before = len(out)
	}
}

// ofTargets are the candidates that place no other process: nothing that was there before is
// changed for a study.
func ofTargets(targets []change.Target, all []auto.Candidate) []auto.Candidate {
	return slices.DeleteFunc(all, func(c auto.Candidate) bool {
		return slices.ContainsFunc(c.Places, func(p auto.Placed) bool {
			return !slices.ContainsFunc(targets, func(t change.Target) bool { return t.TID == p.TID })
		})
	})
}

func moves(ctx context.Context, m *auto.Metric) error {
	for {
		if sum, err := m.Read(); err != nil || sum > 0 {
			return err
		}
		if err := runner.Pause(ctx, startPoll); err != nil {
			return err
		}
	}
}

func (c *searchCell) metric(ctx context.Context, work *runner.Endless, targets []change.Target) (*auto.Metric, error) {
	f := c.study.Figure
	if f.Pattern == ownRuns {
		return auto.NewMetric(f.Pattern, f.Unit, work.Runs()), nil
	}
	pids := group.Each(targets, func(t change.Target) kernel.TID { return t.TID })
	return auto.OpenMetric(ctx, c.Runner.Proc, pids, f.Pattern)
}

// searched is the Detail of a search.
type searched struct {
	Processes    int                 `json:"processes"`  // that were placed together
	Candidates   []searchedCandidate `json:"candidates"` // the kernel's own first
	Kept         int                 `json:"kept"`       // by the search, of Candidates
	Manual       int                 `json:"manual"`     // the best when all were tried, the kernel's aside; 0 where there is no other
	Periods      int                 `json:"periods"`    // of the search
	Seconds      float64             `json:"seconds"`
	Lost         float64             `json:"lost"` // share of the kernel's rate that was lost over the search; below 0 it was gained
	TriedPeriods int                 `json:"tried_periods"`
	TriedSeconds float64             `json:"tried_seconds"`
}

// searchedCandidate is a candidate and its median rates.
type searchedCandidate struct {
	Name     string  `json:"name"`
	CPUs     string  `json:"cpus"`
	Searched float64 `json:"searched"` // while it was searched
	Tried    float64 `json:"tried"`    // when all were tried
}

// trial searches, tries all and compares. It says what it found.
func (c *searchCell) trial(ctx context.Context, measure search.Measure) (string, error) {
	c.found.Processes = len(c.job.Targets)
	c.found.Candidates = group.Each(c.job.Candidates, func(one auto.Candidate) searchedCandidate {
		return searchedCandidate{Name: one.Name, CPUs: one.CPUs.String()}
	})
	began := time.Now()
	err := c.search(ctx, measure)
	if err == nil {
		err = c.tryAll(ctx, measure)
	}
	if err != nil {
		return "", err
	}
	detail, err := json.Marshal(c.found)
	if err != nil {
		return "", err
	}
	c.runs = []bench.RunResult{{Workload: c.study.Workload, Placement: byAuto, Index: bench.WarmupIndex, PID: c.pid, Started: began,
		Wall: time.Since(began), CPUs: c.found.Candidates[c.found.Kept].CPUs, Reason: "search", Detail: detail}}
	name := func(candidate int) string { return c.job.Candidates[candidate].Name }
	words := fmt.Sprintf("study of auto: %s would be kept after %d periods; best of all others when tried: %s", name(c.found.Kept), c.found.Periods, name(c.found.Manual))
	return words, c.compare(ctx, measure)
}

func (c *searchCell) periods() int { return int(time.Until(c.until) / periodTime) }

// search makes piton auto's search, and measures what it costs.
func (c *searchCell) search(ctx context.Context, measure search.Measure) error {
	n := len(c.job.Candidates)
	periods := min(max(c.periods()-leastAfter(n), search.LeastPeriods(n)), search.DefaultPeriods(n))
	before, err := c.job.Metric.Read()
	if err != nil {
		return err
	}
	began := time.Now()
	result, err := c.job.Search(ctx, periods, measure, func(search.Event) { c.tell(byAuto) })
	c.found.Seconds = time.Since(began).Seconds()
	after, late := c.job.Metric.Read()
	if err := errors.Join(err, late); err != nil {
		return err
	}
	c.found.Kept, c.found.Periods = result.Kept, result.Periods
	for i := range result.Candidates {
		c.found.Candidates[i].Searched = chart.Middle(result.Candidates[i].Rates)
	}
	if usual := chart.Mean(result.Candidates[0].Rates); usual > 0 {
		c.found.Lost = 1 - (after-before)/c.found.Seconds/usual
	}
	return nil
}

// tryAll finds the best of all candidates by their median against the kernel's in each round.
func (c *searchCell) tryAll(ctx context.Context, measure search.Measure) error {
	var all []int
	for i := range c.job.Candidates {
		all = append(all, i)
	}
	rounds := min(max((c.periods()-leastCompared*2)/2/len(all), leastTries), mostTries)
	began := time.Now()
	rates, err := c.rounds(ctx, measure, all, rounds, func(int) bench.Placement { return manualBest })
	if err != nil {
		return err
	}
	c.found.TriedSeconds, c.found.TriedPeriods = time.Since(began).Seconds(), rounds*len(all)
	most := math.Inf(-1)
	for i, its := range rates {
		c.found.Candidates[i].Tried = chart.Middle(its)
		if level := chart.Middle(logRatios(its, rates[0])); i > 0 && level > most {
			c.found.Manual, most = i, level
		}
	}
	return nil
}

// compare measures the kernel's placement, the best other one and what was kept in fresh
// periods, until the time is over.
func (c *searchCell) compare(ctx context.Context, measure search.Measure) error {
	of := []int{0} // by searchedPlacements
	for _, candidate := range []int{c.found.Manual, c.found.Kept} {
		if !slices.Contains(of, candidate) {
			of = append(of, candidate)
		}
	}
	rounds := min(max(c.periods()/len(of), leastCompared), mostCompared)
	began := time.Now()
	rates, err := c.rounds(ctx, measure, of, rounds, func(i int) bench.Placement { return searchedPlacements[i] })
	if err != nil {
		return err
	}
	for round := range rounds {
		for i, candidate := range of {
			is := c.job.Candidates[candidate]
			c.runs = append(c.runs, bench.RunResult{Workload: c.study.Workload, Placement: searchedPlacements[i], Index: round, PID: c.pid,
				Started: began, Wall: auto.Period, Metric: rates[i][round], CPUs: is.CPUs.String(), Reason: is.Name})
		}
	}
	return nil
}

// rounds measures candidates, interleaved, and returns their rates by index and round. Each
// round begins with the next one.
func (c *searchCell) rounds(ctx context.Context, measure search.Measure, candidates []int, n int,
	as func(i int) bench.Placement) ([][]float64, error) {
	rates := make([][]float64, len(candidates))
	for round := range n {
		for k := range candidates {
			i := (round + k) % len(candidates)
			c.tell(as(i))
			r, err := measure(ctx, candidates[i])
			if err != nil {
				return nil, err
			}
			rates[i] = append(rates[i], r.Rate)
		}
	}
	return rates, nil
}

func logRatios(rates, base []float64) []float64 {
	out := make([]float64, min(len(rates), len(base)))
	for i := range out {
		out[i] = search.LogRatio(rates[i], base[i])
	}
	return out
}
