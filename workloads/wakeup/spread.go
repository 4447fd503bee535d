package wakeup

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Spread is how times are distributed, in µs.
type Spread struct {
	Count  int     `json:"count"`
	P50    float64 `json:"p50_us"`
	P90    float64 `json:"p90_us"`
	P99    float64 `json:"p99_us"`
	P999   float64 `json:"p99_9_us"`
	Max    float64 `json:"max_us"`
	Octave []int   `json:"octaves"` // below 1 µs, from 1, 2, 4, … µs; the last ones may be left out
}

func newSpread(times []time.Duration) (s Spread) {
	slices.Sort(times)
	if s.Count = len(times); s.Count == 0 {
		return s
	}
	at := func(q float64) float64 { // the nearest rank
		return micro(times[max(int(math.Ceil(q*float64(len(times))))-1, 0)])
	}
	s.P50, s.P90, s.P99, s.P999, s.Max = at(0.5), at(0.9), at(0.99), at(0.999), micro(times[len(times)-1])
	for _, d := range times {
		octave := bits.Len64(uint64(max(d, 0) / time.Microsecond))
		for len(s.Octave) <= octave {
			s.Octave = append(s.Octave, 0)
		}
		s.Octave[octave]++
	}
	return s
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
