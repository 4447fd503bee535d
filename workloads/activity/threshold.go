package activity

import (
	"slices"

	"piton/internal/group"
)

// The threshold goes up by steps until three of them in a row change neither
// the number of interruptions nor the time lost by more than stable.
const (
	step        = 1.25
	steps       = 3
	stable      = 0.02
	thresholdNs = 20_000 // no interruption that matters is shorter
)

// threshold finds from which length on a pause is an interruption, and whether
// the figures were stable there: between what a loop takes by itself (cache and
// translation misses, the other thread of the core) and the shortest
// interruption nothing happens, so that the exact value does not matter.
func threshold(gaps []gap, floorNs float64) (ns float64, found bool) {
	lengths := group.Each(gaps, func(g gap) float64 { return g.length })
	slices.Sort(lengths)
	above := make([]float64, len(lengths)+1) // above[i] is the sum of lengths[i:]
	for i := len(lengths) - 1; i >= 0; i-- {
		above[i] = above[i+1] + lengths[i]
	}
	at := func(ns float64) (count, lost float64) {
		i, _ := slices.BinarySearch(lengths, ns)
		return float64(len(lengths) - i), above[i]
	}
	ns = floorNs
	for same := 0; ns < thresholdNs; ns *= step {
		count, lost := at(ns)
		nextCount, nextLost := at(ns * step)
		if count-nextCount > stable*count || lost-nextLost > stable*lost {
			same = 0
			continue
		}
		if same++; same == steps {
			// The middle of what changed nothing.
			return ns / step, true
		}
	}
	return thresholdNs, false
}
