package wakeup

import (
	"context"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExpectedIsThatOfAllSteps holds the jump over all steps to the steps.
func TestExpectedIsThatOfAllSteps(t *testing.T) {
	for _, o := range []Options{{Requests: 1}, {Requests: 100, KSteps: 1}, {Requests: 7, KSteps: 13}} {
		var sum uint64
		for number := range uint64(o.Requests) {
			sum += compute(number, o.KSteps)
		}
		assert.Equal(t, sum, expected(o), o)
	}
}

func TestEachRequestIsDone(t *testing.T) {
	for _, o := range []Options{
		{Messages: 1, Workers: 1, Rate: MaxRate, KSteps: 1, Requests: 101},
		{Messages: 3, Workers: 2, Rate: 2000, KSteps: 5, Requests: 250},
		{Messages: 2, Workers: 4, Rate: 5000, Requests: MinRequests},
	} {
		r, err := Run(t.Context(), o)
		require.NoError(t, err, o)
		assert.Equal(t, answer(expected(o)), r.Answer)
		assert.Equal(t, o.Requests, r.Replies.Count)
		assert.Equal(t, o.Requests, r.Wakeups.Count+r.Queued)
		assert.Positive(t, r.Seconds)
		for _, s := range []Spread{r.Wakeups, r.Replies} {
			assert.True(t, s.P50 <= s.P90 && s.P90 <= s.P99 && s.P99 <= s.P999 && s.P999 <= s.Max, s)
		}
		b, err := json.Marshal(r)
		require.NoError(t, err)
		var back Result
		require.NoError(t, json.Unmarshal(b, &back))
		for _, width := range []int{0, 5, 40, 120} {
			assert.Equal(t, r.Picture(width), back.Picture(width))
			for _, l := range r.Picture(width) {
				assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
			}
		}
		assert.NotEmpty(t, r.Figures())
	}
}

// TestLostRequestIsAnError: the answer is not right by itself.
func TestLostRequestIsAnError(t *testing.T) {
	r := Result{Expected: answer(compute(0, 1) + compute(1, 1))}
	crews := [][]*worker{{{sum: compute(0, 1)}, {sum: compute(1, 1)}}}
	require.NoError(t, r.collect(crews))
	crews[0][1].sum = 0
	require.ErrorIs(t, r.collect(crews), errAnswer)
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, Options{Messages: 2, Workers: 3, Rate: 100, Requests: 10_000})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestThreadsAreBounded(t *testing.T) {
	_, err := Run(t.Context(), Options{Messages: MaxMessages, Workers: MaxWorkers, Rate: 100, Requests: 100})
	require.ErrorContains(t, err, "at most 1024 are started")
}

func TestSpread(t *testing.T) {
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(1000-i)*time.Microsecond)
	}
	s := newSpread(times)
	assert.Equal(t, []float64{500, 900, 990, 999, 1000}, []float64{s.P50, s.P90, s.P99, s.P999, s.Max})
	assert.Equal(t, []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 489}, s.Octave)
	assert.Zero(t, newSpread(nil))
}
