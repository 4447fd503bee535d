package activity

import (
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads/internal/cycle"
)

func TestRunAddsUp(t *testing.T) {
	for _, counter := range Counters {
		r, err := Run(t.Context(), Options{Ms: 50, Counter: counter})
		require.NoError(t, err, counter)
		assert.Greater(t, r.Observed, 0.0499, "the counter and the clock differ by some parts in a million")
		assert.InDelta(t, r.Lost, r.Tick.Lost+r.Other.Lost, 1e-9)
		assert.Equal(t, r.Gaps, r.Tick.Count+r.Other.Count)
		assert.InDelta(t, r.Share, r.Lost/r.Observed, 1e-9)
		assert.Len(t, r.Intervals, min(r.Gaps, maxKept))
		assert.InDelta(t, r.Observed-r.Lost, r.MeanActiveNs*float64(r.Gaps+1)/1e9, 1e-6)
		assert.GreaterOrEqual(t, r.ThresholdNs, floor*r.LoopNs)
		assert.Positive(t, r.LoopNs)
		if counter == Clock {
			assert.Equal(t, "clock", r.Source)
			assert.InEpsilon(t, 1e9, r.CounterHz, 0.001)
		}

		b, err := json.Marshal(r)
		require.NoError(t, err)
		var back Result
		require.NoError(t, json.Unmarshal(b, &back))
		assert.Equal(t, r.Picture(100), back.Picture(100))
	}
}

// TestUsualOfAThreadThatWaited has a thread that loses its CPU for 20 ms before its first
// reading, and between two others: readings are 50 ns apart.
func TestUsualOfAThreadThatWaited(t *testing.T) {
	at, reading := uint64(0), 0
	c := cycle.Counter{Source: cycle.Clock, Hz: 1e9, Now: func() uint64 {
		if reading++; reading == 2 || reading == 7 {
			at += 20e6
		}
		at += 50
		return at
	}}
	assert.EqualValues(t, 50, usual(c))
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := Run(ctx, Options{Ms: MaxMs, Counter: Auto})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// quiet is a machine's second: a tick of 3 µs each period with some jitter, and
// others at random.
func quiet(rng *rand.Rand, periodNs float64, others int, otherNs float64) []gap {
	const second = 1e9
	var gaps []gap
	for at := periodNs * rng.Float64(); at < second; at += periodNs {
		gaps = append(gaps, gap{start: at + rng.NormFloat64()*2000, length: 3000 + rng.ExpFloat64()*1000})
	}
	for range others {
		gaps = append(gaps, gap{start: rng.Float64() * second, length: otherNs * (0.5 + rng.Float64())})
	}
	slices.SortFunc(gaps, func(a, b gap) int { return cmp.Compare(a.start, b.start) })
	return gaps
}

func TestTickIsFoundAmongOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, hz := range []float64{100, 250, 300, 1000} {
		for _, others := range []int{0, 50, 500} {
			gaps := quiet(rng, 1e9/hz, others, 8000)
			tick := findTick(gaps, 1e9)
			require.True(t, tick.Found, "%v Hz among %d", hz, others)
			assert.InEpsilon(t, hz, tick.Hz, 1e-4, "among %d", others)
			assert.InDelta(t, hz, tick.Count, hz/100+1)
			assert.LessOrEqual(t, tick.Missing, 1)
			marked := 0
			for _, g := range gaps {
				if g.tick {
					marked++
				}
			}
			assert.Equal(t, tick.Count, marked)
		}
	}
}

// Ticks that come while somebody else has the CPU cannot be seen, and a turn
// that begins with a tick is not one.
func TestTickBesideLongTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var gaps []gap
	turnEnd := 0.0
	for k := range 250 {
		at := float64(k)*4e6 + 1e6
		switch {
		case at < turnEnd:
		case k%10 == 5:
			gaps = append(gaps, gap{start: at, length: 9e6})
			turnEnd = at + 9e6
		default:
			gaps = append(gaps, gap{start: at + rng.NormFloat64()*1000, length: 4000})
		}
	}
	tick := findTick(gaps, 1e9)
	require.True(t, tick.Found)
	assert.InEpsilon(t, 250, tick.Hz, 1e-3)
	assert.Equal(t, 175, tick.Count)
	assert.InDelta(t, 1, tick.Strength, 0.02)
	for _, g := range gaps {
		assert.Equal(t, g.length < 1e6, g.tick)
	}
}

// On a CPU shared all the time, most interruptions at a tick are turns.
func TestTickWhereMostAreTurns(t *testing.T) {
	var gaps []gap
	for k := 0; k < 250; k += 5 {
		at := float64(k) * 4e6
		gaps = append(gaps, gap{start: at, length: 3000}, gap{start: at + 4e6, length: 7.5e6}, gap{start: at + 12e6, length: 7.5e6})
	}
	tick := findTick(gaps, 1e9)
	require.True(t, tick.Found)
	assert.InEpsilon(t, 250, tick.Hz, 1e-6)
	assert.Equal(t, 50, tick.Count)
	assert.Equal(t, 3000.0, tick.MedianNs)
}

// A second interruption half a millisecond after each tick is not the period.
func TestTickWithAnEcho(t *testing.T) {
	var gaps []gap
	for k := range 250 {
		gaps = append(gaps, gap{start: float64(k) * 4e6, length: 3000}, gap{start: float64(k)*4e6 + 5e5, length: 3000})
	}
	tick := findTick(gaps, 1e9)
	require.True(t, tick.Found)
	assert.InEpsilon(t, 250, tick.Hz, 1e-6)
}

func TestRandomInterruptionsHaveNoPeriod(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		gaps := quiet(rng, 2e9, 50+rng.IntN(1000), 8000)
		assert.False(t, findTick(gaps, 1e9).Found)
	}
	assert.False(t, findTick(nil, 1e9).Found)
	assert.False(t, findTick(make([]gap, 20), 1).Found)
}

func TestThresholdLiesBetweenLoopAndInterruptions(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var gaps []gap
	for range 10_000 { // the loop's own
		gaps = append(gaps, gap{length: 90 + rng.ExpFloat64()*20})
	}
	for range 300 {
		gaps = append(gaps, gap{length: 2500 + rng.ExpFloat64()*3000})
	}
	at, found := threshold(gaps, 90)
	assert.True(t, found)
	assert.Greater(t, at, 150.0)
	assert.Less(t, at, 2500.0)
	_, found = threshold(nil, 90)
	assert.True(t, found)
}

func TestCheckFindsWhatCannotBe(t *testing.T) {
	good := spun{hz: 1e9, observed: 1e-3, gaps: []gap{{start: 10, length: 100}, {start: 200, length: 5}}}
	require.NoError(t, good.check(1e9))
	assert.ErrorContains(t, good.check(1.1e9), "is no clock")
	for _, gaps := range [][]gap{
		{{start: 10, length: 100}, {start: 100, length: 5}},
		{{start: 10, length: 0}},
		{{start: 999_999, length: 100}},
	} {
		bad := good
		bad.gaps = gaps
		assert.Error(t, bad.check(1e9))
	}
}

func TestMovesAreCounted(t *testing.T) {
	var r Result
	r.follow(spun{cpu: 1, gaps: []gap{{cpu: 3}, {cpu: 3}, {cpu: 1}, {cpu: 3}}})
	assert.Equal(t, []int{3, 1}, r.CPUs)
	assert.Equal(t, 3, r.Migrations)
	r = Result{}
	r.follow(spun{cpu: -1, gaps: []gap{{cpu: -1}}})
	assert.Empty(t, r.CPUs)
}

func TestPicture(t *testing.T) {
	r := Result{Options: Options{Ms: 1000}, Source: "tsc", CounterHz: 2.6e9, LoopNs: 30, Observed: 1}
	r.judge(quiet(rand.New(rand.NewPCG(1, 1)), 4e6, 20, 3e6))
	r.Occupants = []Occupant{{Kind: "softirq", Name: "TIMER", ID: 1, Seconds: 0.001, Times: 7}}
	r.Unnamed = ""
	for _, width := range []int{0, 5, 40, 80, 200} {
		for _, l := range r.Picture(width) {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
		}
	}
	text := strings.Join(r.Picture(100), "\n")
	assert.GreaterOrEqual(t, strings.Count(text, "╷"), 100)
	assert.Contains(t, text, "▒")
	assert.Contains(t, text, "ticks: 250 Hz")
	assert.Contains(t, text, "TIMER (1)")
	assert.Contains(t, strings.Join(Result{Unnamed: "no right"}.Picture(100), "\n"), "unknown: no right")
}

// FuzzJudge: whatever the gaps, the figures add up.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 5, 6, 7, 8, 200})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var gaps []gap
		at := 0.0
		for _, s := range steps {
			g := gap{start: at + float64(s)*5000, length: float64(s)*100 + 1}
			at = g.start + g.length
			gaps = append(gaps, g)
		}
		r := Result{LoopNs: 20, Observed: at/1e9 + 1e-6}
		r.judge(gaps)
		if r.Gaps != r.Tick.Count+r.Other.Count || r.Share < 0 || r.Share > 1 || r.Lost < r.Tick.Lost {
			t.Fatalf("%+v", r)
		}
		r.Picture(80)
	})
}

func BenchmarkFindTick(b *testing.B) {
	gaps := quiet(rand.New(rand.NewPCG(1, 2)), 1e6, 5000, 8000)
	for b.Loop() {
		findTick(gaps, 1e9)
	}
}
