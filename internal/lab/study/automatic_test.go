package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/paper"
	"piton/internal/search"
	"piton/workloads"
)

func TestAutomaticHasEveryWorkload(t *testing.T) {
	var names []string
	for _, w := range searchedWorks {
		names = append(names, w.name)
	}
	for _, w := range workloads.All {
		assert.Contains(t, names, w.Name)
	}
}

// fakeSearches takes the time that it is given, or more.
type fakeSearches struct {
	*fakeRunner
	least  time.Duration
	shares []time.Duration
	broken string // a cell
}

func (f *fakeSearches) Cell(ctx context.Context, s bench.Study, within time.Duration, tell func(bench.RunResult)) ([]bench.RunResult, error) {
	f.shares = append(f.shares, within)
	if f.stop != nil {
		f.stop(s.Cell)
	}
	select {
	case <-time.After(max(within-time.Millisecond, f.least)):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.Cell == f.broken {
		return nil, errors.New("it ended")
	}
	detail, _ := json.Marshal(searched{Candidates: make([]searchedCandidate, 1)})
	runs := []bench.RunResult{{Placement: byAuto, Index: bench.WarmupIndex, Detail: detail}}
	for _, p := range searchedPlacements {
		runs = append(runs, bench.RunResult{Placement: p, Metric: 100})
	}
	tell(runs[0])
	return runs, nil
}

var onlyAutomatic = []Paper{automatic}

func TestSearchesShareTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		o := options(&fakeRunner{}, time.Duration(20*len(searchedWorks))*time.Second)
		f := o.Makers["automatic"].(*fakeSearches)
		run, err := Start(t.Context(), onlyAutomatic, o)
		require.NoError(t, err)
		require.Len(t, run.Results, 2*len(searchedWorks))
		require.NoError(t, run.Finish(t.Context()))
		assert.LessOrEqual(t, time.Since(start), o.Budget)
		assert.GreaterOrEqual(t, time.Since(start), o.Budget*9/10)
		require.Len(t, f.shares, 2*len(searchedWorks))
		assert.InDelta(t, fillShare*10, f.shares[0].Seconds(), 0.01)

		start, f.least, f.shares = time.Now(), 20*time.Second, nil
		run, err = Start(t.Context(), onlyAutomatic, o)
		require.NoError(t, err)
		require.NoError(t, run.Finish(t.Context()))
		assert.Equal(t, o.Budget, time.Since(start), "it ends in time, and not all was measured")
		assert.Less(t, f.shares[1], f.shares[0], "what the first took more is missing from the others")
		assert.Contains(t, fmt.Sprint(automatic.Section(o.Machine, run.Results).Notes), "not run here: ")
	})
}

func TestInterruptedSearchesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fake := &fakeRunner{stop: func(cell string) {
			if cell == "automatic activity quiet" {
				cancel()
			}
		}}
		o := options(fake, time.Hour)
		f := o.Makers["automatic"].(*fakeSearches)
		f.broken = "automatic matrix quiet"
		run, err := Start(ctx, onlyAutomatic, o)
		require.NoError(t, err)
		require.ErrorIs(t, run.Finish(ctx), context.Canceled)
		assert.Len(t, f.shares, 4)

		fake.stop, f.broken, f.shares = nil, "", nil
		again := Resume(run.Grid, run.Results, onlyAutomatic, o)
		require.NoError(t, again.Finish(t.Context()))
		assert.Len(t, f.shares, 2*len(searchedWorks)-2, "those not made, and the one that failed")
	})
}

// TestStudiesPlaceTheirOwnProcesses: a candidate would give a wake partner the same CPUs.
func TestStudiesPlaceTheirOwnProcesses(t *testing.T) {
	var alone, with auto.Candidate
	alone.Give(7, cpuset.Of(1))
	with.Give(7, cpuset.Of(1))
	with.Give(22, cpuset.Of(1))
	kernel := auto.Candidate{Name: auto.Kernel}
	assert.Equal(t, []auto.Candidate{kernel, alone}, ofTargets([]change.Target{{TID: 7}}, []auto.Candidate{kernel, with, alone}))
}

// world is a search of made-up rates: a period takes its time, and the work that it does is
// counted.
type world struct {
	rates []float64 // by candidate
	work  float64
	order []int
	fail  error
}

func (w *world) measure(_ context.Context, candidate int) (search.Reading, error) {
	w.order = append(w.order, candidate)
	time.Sleep(auto.Period)
	rate := w.rates[candidate] * (1 + 0.001*float64(len(w.order)%7)) // some noise
	w.work += rate * auto.Period.Seconds()
	return search.Reading{Rate: rate}, w.fail
}

// Grown is the work since the call before.
func (w *world) Grown() (float64, error) {
	grown := w.work
	w.work = 0
	return grown, nil
}

func (*world) Close() {}

func (w *world) cell(t *testing.T, within time.Duration) (*searchCell, error) {
	c := &searchCell{study: bench.Study{Workload: "nqueens"}, until: time.Now().Add(within), tell: func(bench.Placement) {}}
	for i := range w.rates {
		c.job.Candidates = append(c.job.Candidates, auto.Candidate{Name: fmt.Sprint("cpu ", i), CPUs: cpuset.Of(cpuset.CPU(i))})
	}
	c.job.Candidates[0].Name = auto.Kernel
	c.job.Metric = auto.NewMetric(ownRuns, "/s", w)
	_, err := c.trial(t.Context(), w.measure)
	return c, err
}

// lines are the rows of the tables that a cell gives.
func (c *searchCell) lines() (near, cost []string) {
	r := bench.Results{Study: automaticCells(paper.Machine{CPUs: cpus(2)})[0].study, Runs: c.runs}
	r.Study.Cell = "automatic nqueens quiet"
	s := automatic.Section(paper.Machine{CPUs: cpus(2)}, []bench.Results{r})
	return s.Tables[0].Rows[0], s.Tables[1].Rows[0]
}

func TestSearchedCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := &world{rates: []float64{100, 80, 150}}
		c, err := w.cell(t, time.Minute)
		require.NoError(t, err)
		assert.Less(t, time.Since(start), time.Minute)
		near, cost := c.lines()
		assert.Equal(t, []string{"nqueens", "without load", "100 /s", "cpu 2"}, near[:4])
		assert.Contains(t, near[4], "+50 % (")
		assert.Equal(t, []string{"cpu 2", near[4], "the same placement"}, near[5:])
		assert.Equal(t, []string{"nqueens", "without load", ownRuns, "3"}, cost[:4])
		assert.Negative(t, c.found.Lost, "the better one was in force for a part of the search")
		assert.InDelta(t, 0.2*float64(c.found.Periods), c.found.Seconds, 0.01)
		assert.InDelta(t, 0.2*float64(c.found.TriedPeriods), c.found.TriedSeconds, 0.01)
		assert.Equal(t, bench.WarmupIndex, c.runs[0].Index, "the search is no run")
		for _, run := range c.runs[1:] {
			assert.Contains(t, []bench.Placement{bench.Normal, manualBest}, run.Placement)
		}

		w = &world{rates: []float64{100, 60, 80}}
		c, err = w.cell(t, time.Minute)
		require.NoError(t, err)
		near, _ = c.lines()
		assert.Equal(t, "cpu 2", near[3], "the best of the others")
		assert.Contains(t, near[4], "−20 % (")
		assert.Equal(t, []string{auto.Kernel, "the same placement"}, near[5:7])
		assert.Contains(t, near[7], "+25 % (", "the kernel's is better than the best of the others")
		assert.Positive(t, c.found.Lost)

		w = &world{rates: []float64{100}}
		c, err = w.cell(t, 0)
		require.NoError(t, err)
		near, cost = c.lines()
		assert.Equal(t, []string{"100 /s", bench.None, bench.None, auto.Kernel, "the same placement", bench.None}, near[2:])
		assert.Equal(t, []string{"1", "0"}, cost[3:5])

		w = &world{rates: []float64{100, 100}, fail: errors.New("it ended")}
		_, err = w.cell(t, 0)
		assert.ErrorContains(t, err, "it ended")
	})
}

// TestSearchedCellThatMissesTheBest has a search keep another candidate than the best.
func TestSearchedCellThatMissesTheBest(t *testing.T) {
	d := searched{Candidates: []searchedCandidate{{Name: auto.Kernel}, {Name: "cpu 0"}, {Name: "cpu 1"}}, Manual: 2, Kept: 1}
	detail, err := json.Marshal(d)
	require.NoError(t, err)
	c := searchCell{runs: []bench.RunResult{{Placement: byAuto, Index: bench.WarmupIndex, Detail: detail}}}
	for i := range 8 {
		for k, p := range searchedPlacements {
			c.runs = append(c.runs, bench.RunResult{Placement: p, Index: i, Metric: []float64{100, 125, 110}[k]})
		}
	}
	near, _ := c.lines()
	assert.Equal(t, []string{"nqueens", "without load", "100 /s", "cpu 1", "+25 % (25 to 25 %)", "cpu 0", "+10 % (10 to 10 %)", "−12 % (−12 to −12 %)"}, near)
}
