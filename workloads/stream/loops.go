package stream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"piton/internal/chart"
)

var opNames = [...]string{"copy", "scale", "add", "triad"}

// opArrays is how many arrays a loop reads and writes.
var opArrays = [...]int{2, 2, 3, 3}

// timings are the seconds of each repetition by loop.
type timings [len(opNames)][]float64

// repeat runs the loops in turn and times each over all threads.
func (r *Result) repeat(ctx context.Context, crew *crew, t *three) (timings, error) {
	k := plain
	if r.Used == Vector {
		k = vector
	}
	loops := [...]func(first, end int){
		func(i, j int) { k.copy(t.c[i:j], t.a[i:j]) },
		func(i, j int) { k.scale(t.b[i:j], t.c[i:j]) },
		func(i, j int) { k.add(t.c[i:j], t.a[i:j], t.b[i:j]) },
		func(i, j int) { k.triad(t.a[i:j], t.b[i:j], t.c[i:j]) },
	}
	var times timings
	for range r.Reps {
		for op, loop := range loops {
			start := time.Now()
			crew.each(ctx, len(t.a), loop)
			seconds := time.Since(start).Seconds()
			if err := ctx.Err(); err != nil {
				return timings{}, fmt.Errorf("run the %s loop: %w", opNames[op], err)
			}
			times[op] = append(times[op], seconds)
			r.Seconds += seconds
		}
	}
	return times, nil
}

// newOps turns seconds into bandwidths, without the first repetition.
func newOps(times timings, elements int) []Op {
	if len(times[0]) < MinReps {
		return nil
	}
	ops := make([]Op, len(opNames))
	for i, name := range opNames {
		s := slices.Sorted(slices.Values(times[i][1:]))
		bytes := int64(opArrays[i]) * 8 * int64(elements)
		rate := func(seconds float64) float64 { return math.Round(float64(bytes)/max(seconds, 1e-9)/1e5) / 10 }
		ops[i] = Op{Name: name, BestMBs: rate(s[0]), MedianMBs: rate(chart.Middle(s)), WorstMBs: rate(s[len(s)-1]), BytesMoved: bytes}
	}
	return ops
}
