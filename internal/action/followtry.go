package action

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/runner"
)

// The placements of a comparison of steering.
const (
	SteeredOff bench.Placement = "off"
	SteeredOn  bench.Placement = "on"
)

const (
	// LeastTry is the least time of a comparison: enough pairs for a verdict.
	LeastTry = 12 * time.Second
	// tryPairs is how many pairs of periods a comparison has, if they are not too short or long.
	tryPairs                   = 12
	shortestPeriod, longPeriod = time.Second, 5 * time.Second
	// trySettle is the part of a period that is not counted: flows move when their queues
	// are empty.
	trySettle = 0.1
)

// Try measures with and without steering in turn, in pairs of which the order is tossed, and
// judges by a figure that only grows, of which more is better. Everything is as it was before
// then.
func (s *Steering) Try(ctx context.Context, within time.Duration, rate string, read func() (float64, error)) (bench.Report, error) {
	if within < LeastTry {
		return bench.Report{}, fmt.Errorf("a comparison takes at least %v", LeastTry)
	}
	figure, err := runner.RateFigure(rate)
	if err != nil {
		return bench.Report{}, err
	}
	period := min(max(within/(2*tryPairs), shortestPeriod), longPeriod)
	pairs := int(within / (2 * period))
	results := bench.Results{Study: bench.Study{Workload: bench.AttachWorkload, Figure: figure, Period: period, Runs: pairs,
		Placements: []bench.Placement{SteeredOff, SteeredOn}}}
	err = s.trial(ctx, within, func(ctx context.Context, put putCandidate) (string, error) {
		for pair := range pairs {
			for _, arm := range rand.Perm(2) {
				run := bench.RunResult{Workload: bench.AttachWorkload, Placement: results.Study.Placements[arm], Index: pair, Started: time.Now()}
				if err := put(arm == 1); err != nil {
					return "", err
				}
				if err := measurePeriod(ctx, period, read, &run); err != nil {
					return "", err
				}
				results.Runs = append(results.Runs, run)
			}
		}
		return fmt.Sprintf("irq follow, %s by %s: %s", s.Policy, s.Way, bench.Judge(results).Comparisons[0].Verdict), nil
	})
	return bench.Judge(results), err
}

// measurePeriod measures one period, its first part aside.
func measurePeriod(ctx context.Context, period time.Duration, read func() (float64, error), run *bench.RunResult) error {
	settle := time.Duration(trySettle * float64(period))
	if err := runner.Pause(ctx, settle); err != nil {
		return err
	}
	before, err := read()
	if err != nil {
		return err
	}
	began := time.Now()
	if err = runner.Pause(ctx, period-settle); err != nil {
		return err
	}
	after, err := read()
	run.Wall = time.Since(began)
	run.Seconds = run.Wall.Seconds()
	run.Metric = (after - before) / run.Seconds
	return err
}
