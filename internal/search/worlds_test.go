package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/chart"
)

// noise is how the log rate of one process moves while nothing is changed: a slow sine,
// which adjacent periods share, and a first-order autocorrelated part.
type noise struct {
	sd, rho       float64 // of the autocorrelated part
	drift         float64 // amplitude of the sine, log rate
	length, phase float64 // of the sine, in periods and radians
	bursts        bool    // 3 % of periods start a burst of 3 or so, up to 77 % slower
	floating      bool    // sd itself wanders, by a factor of 2 either way and more
	step          float64 // sd of a random walk's step, log rate
	stalls        float64 // share of periods that lose 60 %, whatever is measured in them
}

// drawNoise draws noise as measured (FACTS §8): sd of a period's log rate 1.5 to
// 16 %, lag-1 autocorrelation 0 to 0.83, and of those only what has a median difference
// of adjacent periods of 1 to 6 %. Rough is twice that, with bursts.
func drawNoise(rng *rand.Rand, rough bool) noise {
	for {
		sd, rho := 0.015*math.Pow(16/1.5, rng.Float64()), 0.83*rng.Float64()
		if difference := 0.6745 * sd * math.Sqrt(2*(1-rho)); difference < 0.01 || difference > 0.06 {
			continue
		}
		slow := min(rho, 0.5) * rng.Float64() // the sine's part of the variance
		n := noise{
			sd:     sd * math.Sqrt(1-slow),
			rho:    (rho - slow) / (1 - slow),
			drift:  sd * math.Sqrt(2*slow),
			length: 40 * math.Pow(5, rng.Float64()),
			phase:  2 * math.Pi * rng.Float64(),
		}
		if rough {
			n.sd, n.drift, n.bursts = 2*n.sd, 2*n.drift, true
		}
		return n
	}
}

// floating lets the noise itself wander.
func floating(n *noise, _ *rand.Rand) { n.floating = true }

// walking is noise of another family: a random walk and independent noise, which together
// move adjacent periods apart by the same 1 to 6 %, twice that in rough worlds.
func walking(n *noise, rng *rand.Rand) {
	difference := 0.01 * math.Pow(6, rng.Float64()) / 0.6745
	if n.bursts {
		difference *= 2
	}
	part := rng.Float64()
	*n = noise{sd: difference * math.Sqrt((1-part)/2), step: difference * math.Sqrt(part), length: 1, bursts: n.bursts}
}

// stalling is a machine that now and then stands still, as an emulated one does.
func stalling(n *noise, _ *rand.Rand) { n.stalls = 0.05 }

// world is a process on which each candidate has a known effect.
type world struct {
	effects []float64 // on the log rate, by candidate
	noise   noise
	rng     *rand.Rand

	periods         int
	value, loudness float64 // of the autocorrelated part, and of the logarithm of its sd
	walked          float64 // of the random walk
	burst           int     // periods left
	depth           float64
	lost            float64 // periods' worth of work lost against the default
}

func (w *world) rate(candidate int) float64 {
	n := w.noise
	if n.floating {
		w.loudness = 0.95*w.loudness + 0.2*w.rng.NormFloat64()
	}
	fresh := w.rng.NormFloat64() * n.sd * math.Exp(w.loudness)
	if w.periods > 0 {
		fresh = n.rho*w.value + math.Sqrt(1-n.rho*n.rho)*fresh
	}
	w.value = fresh
	w.walked += n.step * w.rng.NormFloat64()
	y := w.value + w.walked + n.drift*math.Sin(2*math.Pi*float64(w.periods)/n.length+n.phase)
	w.periods++
	if n.bursts && w.burst == 0 && w.rng.Float64() < 0.03 {
		w.burst, w.depth = 1+int(3*w.rng.ExpFloat64()), 0.77*w.rng.Float64()
	}
	if w.burst > 0 {
		w.burst--
		y += math.Log(1 - w.depth*(0.7+0.3*w.rng.Float64()))
	}
	if n.stalls > 0 && w.rng.Float64() < n.stalls {
		y += math.Log(0.4)
	}
	return 1000 * math.Exp(y+w.effects[candidate])
}

func (w *world) measure(_ context.Context, candidate int) (Reading, error) {
	w.lost -= math.Expm1(w.effects[candidate])
	return Reading{Rate: w.rate(candidate)}, nil
}

// mixed is how many of the kinds, the first, the mean is of that TestBestIsFound promises.
const mixed = 5

// kind is what placements do in a world, as ratios to the default.
type kind struct {
	name    string
	effects func(ratios []float64, rng *rand.Rand)
}

var kinds = []kind{
	{"no gain", func([]float64, *rand.Rand) {}},
	{"+5 %", func(ratios []float64, rng *rand.Rand) { oneGains(ratios, 0.05, rng) }},
	{"+10 %", func(ratios []float64, rng *rand.Rand) { oneGains(ratios, 0.10, rng) }},
	{"all worse", func(ratios []float64, rng *rand.Rand) {
		for c := range ratios[1:] {
			ratios[c+1] = 0.95 - 0.35*rng.Float64()
		}
	}},
	{"spread", func(ratios []float64, rng *rand.Rand) {
		for c := range ratios[1:] {
			ratios[c+1] = 0.85 + 0.30*rng.Float64()
		}
	}},
	{"all -20 %", func(ratios []float64, _ *rand.Rand) { allAre(ratios, 0.8) }},
	{"all -60 %", func(ratios []float64, _ *rand.Rand) { allAre(ratios, 0.4) }},
	{"all -90 %", func(ratios []float64, _ *rand.Rand) { allAre(ratios, 0.1) }},
	{"+100 %", func(ratios []float64, rng *rand.Rand) { oneGains(ratios, 1, rng) }},
}

func allAre(ratios []float64, ratio float64) {
	for c := range ratios[1:] {
		ratios[c+1] = ratio
	}
}

// oneGains makes one candidate better. The others change nothing in half of the worlds,
// and cost up to 10 % in the other half.
func oneGains(ratios []float64, gain float64, rng *rand.Rand) {
	cost := 0.1 * float64(rng.IntN(2))
	for c := range ratios[1:] {
		ratios[c+1] = 1 - cost*rng.Float64()
	}
	ratios[1+rng.IntN(len(ratios)-1)] = 1 + gain
}

// newWorld draws a world of n candidates, 0 for any number from 3 to 20.
func newWorld(seed, kind, n int, rough bool) *world {
	rng := rand.New(rand.NewPCG(uint64(seed), 1000+uint64(kind)))
	if n == 0 {
		n = 3 + rng.IntN(18)
	}
	ratios := slices.Repeat([]float64{1}, n)
	kinds[kind].effects(ratios, rng)
	w := &world{effects: make([]float64, n), rng: rng, noise: drawNoise(rng, rough)}
	for c, r := range ratios {
		w.effects[c] = math.Log(r)
	}
	return w
}

// TestWorldsAreNoisy holds the worlds to what they claim.
func TestWorldsAreNoisy(t *testing.T) {
	var sds, lags, differences []float64
	for seed := range 200 {
		w := newWorld(seed, 0, 3, false)
		logs := make([]float64, 2000)
		for i := range logs {
			logs[i] = math.Log(w.rate(0))
		}
		steps := make([]float64, len(logs)-1)
		for i := range steps {
			steps[i] = math.Abs(logs[i+1] - logs[i])
		}
		mean, squares, products := chart.Mean(logs), 0.0, 0.0
		for i, l := range logs {
			squares += (l - mean) * (l - mean)
			if i > 0 {
				products += (l - mean) * (logs[i-1] - mean)
			}
		}
		sds, lags = append(sds, math.Sqrt(squares/float64(len(logs)))), append(lags, products/squares)
		differences = append(differences, chart.Middle(steps))
	}
	for _, figure := range []struct {
		name                   string
		values                 []float64
		least, middle, largest float64 // measured: the ends; the middle must be inside
	}{
		{"sd", sds, 0.015, 0.04, 0.16},
		{"lag-1", lags, 0, 0.4, 0.83},
		{"median difference", differences, 0.01, 0.025, 0.06},
	} {
		slices.Sort(figure.values)
		low, high := figure.values[0], figure.values[len(figure.values)-1]
		t.Logf("%s: %.3f to %.3f, median %.3f", figure.name, low, high, chart.Middle(figure.values))
		assert.InDelta(t, figure.least, low, 0.2*figure.largest, figure.name)
		assert.InDelta(t, figure.largest, high, 0.25*figure.largest, figure.name)
		assert.InEpsilon(t, figure.middle, chart.Middle(figure.values), 0.4, figure.name)
	}
	low, total := 0, 0
	for seed := range 100 {
		w := newWorld(seed, 0, 3, true)
		for range 200 {
			w.rate(0)
			total++
			if w.burst > 0 {
				low++
			}
		}
	}
	assert.InDelta(t, 0.07, float64(low)/float64(total), 0.03, "share of periods in a burst that goes on")
}
