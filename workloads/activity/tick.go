package activity

import (
	"math"
	"slices"

	"piton/internal/chart"
	"piton/internal/group"
)

// The search for a period. Linux ticks at 100 to 1000 Hz, once a second on a CPU
// of nohz_full, and a hypervisor's scheduler may have a period of its own.
const (
	binNs       = 20_000
	shortestNs  = 400_000
	longestNs   = 50_000_000
	leastEvents = 8
	// leastShare of the periods must have a tick; fewer are chance.
	leastShare = 0.5
	// A period may be a multiple of the tick's, up to mostParts times, if a part of
	// it has ticks at this share of its times.
	mostParts   = 5
	leastOfPart = 0.9
	// leastPeak is how many times more pairs of interruptions are one period apart
	// than there would be if they came at random.
	leastPeak = 4
	maxLags   = 12
	// A tick comes within this of its time, or this share of the period.
	looseNs    = 60_000
	looseShare = 0.03
	// longTick is how many times a short one a tick may take; a longer interruption
	// that begins with one is somebody else's turn, and most may be that.
	longTick = 20
)

// findTick looks for interruptions at one period by the autocorrelation of
// their beginnings, and marks them.
func findTick(gaps []gap, observedNs float64) Tick {
	starts := group.Each(gaps, func(g gap) float64 { return g.start })
	for _, rough := range correlate(starts, observedNs) {
		period := refine(starts, rough, observedNs)
		// Where tasks take turns of two ticks or more, hardly any two interruptions
		// are one tick apart, but every time of a tick that can be seen has one.
		for parts := mostParts; parts > 1; parts-- {
			if t := newTick(gaps, starts, period/float64(parts), observedNs); t.Strength >= leastOfPart {
				return t
			}
		}
		if t := newTick(gaps, starts, period, observedNs); t.Strength >= leastShare {
			return t
		}
	}
	unmark(gaps)
	return Tick{}
}

// newTick marks the interruptions that come with a period.
func newTick(gaps []gap, starts []float64, period, observedNs float64) Tick {
	unmark(gaps)
	if period < shortestNs {
		return Tick{}
	}
	t := Tick{Found: true, PeriodNs: period}
	t.mark(gaps, densest(starts, period), observedNs)
	return t
}

func unmark(gaps []gap) {
	for i := range gaps {
		gaps[i].tick = false
	}
}

// correlate returns the lags at which pairs of starts gather, shortest first, so
// that a period comes before its multiples.
func correlate(starts []float64, observedNs float64) (lagsNs []float64) {
	most := min(longestNs, observedNs/4)
	if len(starts) < leastEvents || most < 2*shortestNs {
		return nil
	}
	pairs := make([]float64, int(most/binNs)+2)
	for i, s := range starts {
		for _, t := range starts[i+1:] {
			if t-s >= most {
				break
			}
			pairs[int((t-s)/binNs)]++
		}
	}
	// Two neighbouring bins are taken together, for a peak on their border.
	random := float64(len(starts)) * float64(len(starts)) * 2 * binNs / observedNs
	peak := 0.0
	for k := int(shortestNs / binNs); k+1 < len(pairs); k++ {
		peak = max(peak, pairs[k]+pairs[k+1])
	}
	if peak < leastPeak*random || peak < leastEvents/2 {
		return nil
	}
	for k := int(shortestNs / binNs); k+1 < len(pairs); k++ {
		here := pairs[k] + pairs[k+1]
		if here >= 0.6*peak && here >= pairs[k+1]+next(pairs, k+2) && len(lagsNs) < maxLags {
			lagsNs = append(lagsNs, (float64(k)+1)*binNs)
			k++ // the same peak's other half
		}
	}
	return lagsNs
}

func next(pairs []float64, k int) float64 {
	if k >= len(pairs) {
		return 0
	}
	return pairs[k]
}

// refine makes a rough period exact: the mean over pairs that are one, two, four
// … periods apart, each time far enough to halve the error and near enough not
// to count a period too many.
func refine(starts []float64, period, observedNs float64) float64 {
	for m := 1.0; m*period < observedNs/2; m *= 2 {
		var sum float64
		n, j := 0, 0
		loose := max(looseNs, looseShare*period)
		for i, s := range starts {
			j = max(j, i+1)
			for j < len(starts) && starts[j] < s+m*period-loose {
				j++
			}
			for k := j; k < len(starts) && starts[k] <= s+m*period+loose; k++ {
				sum += starts[k] - s
				n++
			}
		}
		if n == 0 {
			break
		}
		period = sum / float64(n) / m
	}
	return period
}

// densest is the phase around which most starts gather.
func densest(starts []float64, period float64) float64 {
	phases := make([]float64, 0, 2*len(starts))
	for _, s := range starts {
		phases = append(phases, math.Mod(s, period))
	}
	slices.Sort(phases)
	for _, p := range phases { // once more, for a window over the end
		phases = append(phases, p+period)
	}
	n := len(starts)
	loose := max(looseNs, looseShare*period)
	best, most, j := 0.0, 0, 0
	for i := range n {
		j = max(j, i)
		for j+1 < len(phases) && j+1 < i+n && phases[j+1] <= phases[i]+loose {
			j++
		}
		if j-i+1 > most {
			most, best = j-i+1, phases[(i+j)/2]
		}
	}
	return math.Mod(best, period)
}

// mark takes for ticks the first interruption at each of their times, but for
// those of another length altogether.
func (t *Tick) mark(gaps []gap, phase, observedNs float64) {
	loose := max(looseNs, looseShare*t.PeriodNs)
	var in []int
	var lengths, number, begins []float64
	last := -1.0
	for i, g := range gaps {
		k := math.Round((g.start - phase) / t.PeriodNs)
		if k == last || math.Abs(g.start-phase-k*t.PeriodNs) > loose {
			continue
		}
		last = k
		in, lengths = append(in, i), append(lengths, g.length)
		number, begins = append(number, k), append(begins, g.start)
	}
	short := tenth(lengths)
	lengths = lengths[:0]
	periods := int(math.Round(observedNs / t.PeriodNs))
	for _, i := range in {
		if gaps[i].length > longTick*short {
			continue
		}
		lengths = append(lengths, gaps[i].length)
		gaps[i].tick = true
		t.Count++
		t.Lost += gaps[i].length / 1e9
	}
	t.MedianNs = chart.Middle(lengths)
	if len(in) > 2 {
		_, t.PeriodNs, _ = chart.Regression(number, begins)
		t.Hz = 1e9 / t.PeriodNs
	}
	t.Missing = max(periods-t.hidden(gaps, phase, loose)-len(in), 0)
	t.Strength = float64(len(in)) / float64(max(len(in)+t.Missing, 1))
}

// tenth is the value that a tenth of them are below; 0 of nothing.
func tenth(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/10]
}

// hidden counts the times of ticks that were over before the program was back:
// nobody could see those.
func (t *Tick) hidden(gaps []gap, phase, loose float64) int {
	n := 0
	for _, g := range gaps {
		first := math.Ceil((g.start + loose - phase) / t.PeriodNs)
		last := math.Floor((g.start + g.length - phase) / t.PeriodNs)
		n += int(max(last-first+1, 0))
	}
	return n
}
