package search

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixed measures candidates whose rates never change.
func fixed(rates ...float64) Measure {
	return func(_ context.Context, c int) (Reading, error) { return Reading{Rate: rates[c]}, nil }
}

func TestRunOnQuietMachines(t *testing.T) {
	for name, tc := range map[string]struct {
		rates   []float64
		kept    int
		periods int // at most
	}{
		"only the default":       {[]float64{5}, 0, 0},
		"all alike":              {[]float64{5, 5, 5, 5}, 0, 130},
		"one alike":              {[]float64{5, 5}, 0, 65},
		"all at 0":               {[]float64{0, 0, 0}, 0, 130},
		"candidates at 0":        {[]float64{5, 0, 0}, 0, 56},
		"the default at 0":       {[]float64{0, 0, 5}, 2, 60},
		"one of eight is better": {[]float64{5, 4, 5, 6, 3, 5, 5, 4}, 3, 70},
		"the one is better":      {[]float64{5, 5.1}, 1, 60},
		"the one is worse":       {[]float64{5, 4.9}, 0, 20},
		"thirty times as fast":   {[]float64{1, 30, 1}, 1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Run(context.Background(), len(tc.rates), Options{}, fixed(tc.rates...), nil)
			require.NoError(t, err)
			assert.Equal(t, tc.kept, r.Kept, r.Reason)
			assert.LessOrEqual(t, r.Periods, tc.periods)
			assert.NotEmpty(t, r.Reason)
			for c, candidate := range r.Candidates {
				assert.NotEqual(t, Racing, candidate.State, "candidate %d", c)
				assert.Equal(t, c == tc.kept, candidate.State == Kept, "candidate %d", c)
				assert.NotEmpty(t, candidate.Reason, "candidate %d", c)
			}
			if tc.kept != 0 {
				assert.Greater(t, r.Low, 1.0)
				assert.InEpsilon(t, min(tc.rates[tc.kept]/max(tc.rates[0], 1e-9), 1000), r.Effect, 1e-9)
			}
		})
	}
}

// TestOneLuckyPeriodDropsNobody: what was counted late makes one period eight times as fast.
func TestOneLuckyPeriodDropsNobody(t *testing.T) {
	for seed := range uint64(100) {
		w := newWorld(int(seed), 0, 8, false)
		w.effects[3] = math.Log(2)
		lucky := false
		r, err := Run(context.Background(), 8, Options{Seed: seed}, func(ctx context.Context, c int) (Reading, error) {
			is, err := w.measure(ctx, c)
			if c == 1 && !lucky {
				is.Rate, lucky = 8*is.Rate, true
			}
			return is, err
		}, nil)
		require.NoError(t, err)
		assert.Equal(t, 3, r.Kept, "%d: %s", seed, r.Reason)
	}
}

func TestRunRefusesBadCalls(t *testing.T) {
	never := func(context.Context, int) (Reading, error) { panic("measured") }
	_, err := Run(context.Background(), 0, Options{}, never, nil)
	require.ErrorContains(t, err, "the default is missing")
	_, err = Run(context.Background(), 8, Options{MaxPeriods: LeastPeriods(8) - 1}, never, nil)
	require.ErrorContains(t, err, "at least 46 are needed")
	assert.Equal(t, 34, LeastPeriods(2))
	r, err := Run(context.Background(), 8, Options{MaxPeriods: LeastPeriods(8)}, fixed(5, 5, 5, 5, 5, 6, 5, 5), nil)
	require.NoError(t, err)
	assert.Equal(t, 5, r.Kept)
	assert.LessOrEqual(t, r.Periods, LeastPeriods(8))
}

// TestErrorsKeepTheDefault ends the search in each of its periods.
func TestErrorsKeepTheDefault(t *testing.T) {
	ended := errors.New("task 812 ended")
	rates := fixed(5, 4, 6)
	whole, err := Run(context.Background(), 3, Options{Seed: 3}, rates, nil)
	require.NoError(t, err)
	for at := range whole.Periods {
		for _, end := range []struct {
			reading Reading
			err     error
			says    string
		}{
			{Reading{}, ended, "task 812 ended"},
			{Reading{Rate: math.NaN()}, nil, "NaN is no rate"},
			{Reading{Rate: -1}, nil, "-1 is no rate"},
			{Reading{Rate: math.Inf(1)}, nil, "+Inf is no rate"},
		} {
			period := 0
			r, err := Run(context.Background(), 3, Options{Seed: 3}, func(ctx context.Context, c int) (Reading, error) {
				if period++; period == at+1 {
					return end.reading, end.err
				}
				return rates(ctx, c)
			}, nil)
			require.ErrorContains(t, err, end.says)
			if end.err != nil {
				require.ErrorIs(t, err, ended)
			}
			assert.Zero(t, r.Kept)
			assert.Equal(t, at, r.Periods)
			assert.NotEmpty(t, r.Reason)
		}
	}
}

func TestEndOfContextKeepsTheDefault(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("Esc")
	r, err := Run(ctx, 4, Options{}, fixed(1, 2, 3, 4), func(e Event) {
		if e.Now.Periods == 10 {
			cancel(why)
		}
	})
	require.ErrorIs(t, err, why)
	assert.Zero(t, r.Kept)
	assert.Equal(t, 10, r.Periods)
}

func TestGuardrails(t *testing.T) {
	rates := []float64{5, 5, 7, 6, 4}
	t.Run("in the race", func(t *testing.T) {
		count := make([]int, len(rates))
		r, err := Run(context.Background(), len(rates), Options{}, func(_ context.Context, c int) (Reading, error) {
			count[c]++
			return Reading{rates[c], c == 2}, nil
		}, nil)
		require.NoError(t, err)
		assert.Equal(t, 3, r.Kept)
		assert.Equal(t, 1, count[2], "never again")
		assert.Equal(t, Violated, r.Candidates[2].State)
	})
	t.Run("in the confirmation the next one follows", func(t *testing.T) {
		period, selected := 0, []int{}
		// 6.9 and 7 alternate in noise enough for both to stay in the race.
		r, err := Run(context.Background(), 3, Options{Seed: 2}, func(_ context.Context, c int) (Reading, error) {
			period++
			rate := []float64{5, 7, 6.9}[c] * (1 + 0.1*float64(period*period%7))
			return Reading{rate, len(selected) > 0 && c == selected[0]}, nil
		}, func(e Event) {
			if e.Kind == Selected {
				selected = append(selected, e.Candidate)
			}
		})
		require.NoError(t, err)
		require.Len(t, selected, 2)
		assert.Equal(t, selected[1], r.Kept)
		assert.Equal(t, Violated, r.Candidates[selected[0]].State)
		assert.Equal(t, selected[1], r.Finalist)
	})
	t.Run("in the confirmation with no periods left", func(t *testing.T) {
		selected := 0
		r, err := Run(context.Background(), 3, Options{MaxPeriods: LeastPeriods(3)}, func(_ context.Context, c int) (Reading, error) {
			return Reading{[]float64{5, 7, 6}[c], selected > 0 && c != 0}, nil
		}, func(e Event) {
			if e.Kind == Selected {
				selected++
			}
		})
		require.NoError(t, err)
		assert.Zero(t, r.Kept)
		assert.Equal(t, 1, selected)
		assert.Contains(t, r.Reason, "violated a guardrail")
	})
	t.Run("the only one", func(t *testing.T) {
		r, err := Run(context.Background(), 2, Options{}, func(_ context.Context, c int) (Reading, error) {
			return Reading{rates[c], c == 1}, nil
		}, nil)
		require.NoError(t, err)
		assert.Zero(t, r.Kept)
		assert.LessOrEqual(t, r.Periods, 14)
		assert.Contains(t, r.Reason, "guardrail")
	})
	t.Run("the default's are not counted", func(t *testing.T) {
		r, err := Run(context.Background(), 3, Options{}, func(_ context.Context, c int) (Reading, error) {
			return Reading{rates[c], c == 0}, nil
		}, nil)
		require.NoError(t, err)
		assert.Equal(t, 2, r.Kept)
	})
}

// TestEvents holds what a live screen is told to what happened.
func TestEvents(t *testing.T) {
	for seed := range 40 {
		w := newWorld(seed, 4, 0, seed%2 == 0)
		var events []Event
		var order []int
		r, err := Run(context.Background(), len(w.effects), Options{Seed: 7}, func(ctx context.Context, c int) (Reading, error) {
			order = append(order, c)
			return w.measure(ctx, c)
		}, func(e Event) { events = append(events, e) })
		require.NoError(t, err)
		var measured, out []int
		fresh := -1
		for _, e := range events {
			switch e.Kind {
			case Measured:
				measured = append(measured, e.Candidate)
				rates := e.Now.Candidates[e.Candidate].Rates
				assert.Equal(t, e.Reading.Rate, rates[len(rates)-1])
				assert.Len(t, measured, e.Now.Periods)
			case Eliminated:
				out = append(out, e.Candidate)
				assert.NotEmpty(t, e.Now.Candidates[e.Candidate].Reason)
			case Selected:
				fresh = e.Now.Periods
				assert.Empty(t, e.Now.Pairs)
			}
		}
		assert.Equal(t, order, measured)
		last := events[len(events)-1]
		assert.Equal(t, Decided, last.Kind)
		assert.Equal(t, r.Kept, last.Candidate)
		if fresh >= 0 {
			assert.Len(t, r.Pairs, (r.Periods-fresh)/2, "fresh pairs only decide")
		}
		if r.Kept != 0 {
			assert.NotContains(t, out, r.Kept)
		}
		assert.Len(t, out, len(w.effects)-1, "all but the kept one")
	}
}

func TestSameSeedSameSearch(t *testing.T) {
	run := func(seed uint64) Result {
		w := newWorld(3, 2, 8, false)
		r, err := Run(context.Background(), 8, Options{Seed: seed}, w.measure, nil)
		require.NoError(t, err)
		return r
	}
	assert.Equal(t, run(4), run(4))
	assert.NotEqual(t, run(4).Candidates[1].Rates, run(5).Candidates[1].Rates)
}

func TestLogRatio(t *testing.T) {
	for _, tc := range []struct{ chosen, base, want float64 }{
		{2, 1, math.Ln2}, {1, 2, -math.Ln2}, {0, 0, 0}, {5, 5, 0},
		{0, 5, -most}, {5, 0, most}, {1e300, 1e-300, most}, {1e-300, 1e300, -most}, {5e-324, 1, -most},
	} {
		assert.InDelta(t, tc.want, LogRatio(tc.chosen, tc.base), 1e-12, "%g to %g", tc.chosen, tc.base)
	}
}

func TestMedianOfCandidate(t *testing.T) {
	assert.True(t, math.IsNaN((&Candidate{}).Median()))
	assert.InDelta(t, 2, (&Candidate{Rates: []float64{9, 1, 2}}).Median(), 1e-12)
	assert.Equal(t, "violated", Violated.String())
}
