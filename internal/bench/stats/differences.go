package stats

import (
	"math"
	"slices"
)

// differences are all y-x of two samples. They are not made: two placements at
// MaxRuns have 100 million.
type differences struct{ xs, ys []float64 } // sorted

func newDifferences(xs, ys []float64) differences {
	return differences{slices.Sorted(slices.Values(xs)), slices.Sorted(slices.Values(ys))}
}

func (d differences) len() int { return len(d.xs) * len(d.ys) }

// upTo is how many of them are v or less. Rounding keeps the order, so for a
// larger x no fewer of ys are.
func (d differences) upTo(v float64) int {
	n, j := 0, 0
	for _, x := range d.xs {
		for j < len(d.ys) && d.ys[j]-x <= v {
			j++
		}
		n += j
	}
	return n
}

// MostlyAbove reports whether more differences of one of ys and one of xs are above 0
// than below: what the Mann-Whitney test goes by, also where so many are 0 that their
// median is.
func MostlyAbove(xs, ys []float64) bool {
	d := newDifferences(xs, ys)
	return d.len()-d.upTo(0) > d.upTo(-math.SmallestNonzeroFloat64)
}

// at is the one at a rank, from 0: the least number that more than rank of them
// do not exceed. Halving the numbers between the least and the greatest
// difference finds it in 64 steps at most, to the last bit.
func (d differences) at(rank int) float64 {
	low, high := order(d.ys[0]-d.xs[len(d.xs)-1]), order(d.ys[len(d.ys)-1]-d.xs[0])
	for low < high {
		middle := low + (high-low)/2
		if d.upTo(ordered(middle)) > rank {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return ordered(low) + 0 // -0 is 0
}

// order numbers the floating-point numbers in their order; ordered is its inverse.
// Those below 0 have the sign bit, and more of the others the lower they are.
func order(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits>>63 == 0 {
		return bits | 1<<63
	}
	return ^bits
}

func ordered(n uint64) float64 {
	if n>>63 == 0 {
		return math.Float64frombits(^n)
	}
	return math.Float64frombits(n &^ (1 << 63))
}
