package stream

import (
	"context"
	"fmt"
	"unsafe"
)

const arrays = 3

// three are the arrays of STREAM, in one mapping.
type three struct {
	memory  []byte
	a, b, c []float64
}

// fill maps the arrays and lets each thread touch its own share first.
func (r *Result) fill(ctx context.Context, crew *crew, node int) (*three, error) {
	size := r.MiB << 20
	memory, err := r.Mapper.Map(arrays*size, node)
	if err != nil {
		return nil, fmt.Errorf("get memory for %d arrays of %d MiB: %w", arrays, r.MiB, err)
	}
	n := size / 8
	all := unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(memory))), arrays*n)
	t := &three{memory: memory, a: all[:n], b: all[n : 2*n], c: all[2*n:]}
	crew.each(ctx, n, func(first, end int) {
		for i := first; i < end; i++ {
			t.a[i], t.b[i], t.c[i] = 2, 2, 0 // a is 1 and doubled, as STREAM times it first
		}
	})
	return t, ctx.Err()
}

// tolerance of the mean error of an array, relative to its value: STREAM's for
// double precision.
const tolerance = 1e-13

// check compares the arrays with what the loops must have made of them, as
// checkSTREAMresults does.
func (t *three) check(ctx context.Context, reps int) error {
	a, b, c := expected(reps)
	for _, x := range []struct {
		name string
		have []float64
		want float64
	}{{"a", t.a, a}, {"b", t.b, b}, {"c", t.c, c}} {
		var sum float64
		at := -1
		for i, v := range x.have {
			if i%chunk == 0 && ctx.Err() != nil {
				return fmt.Errorf("check the arrays: %w", ctx.Err())
			}
			d := max(v-x.want, x.want-v)
			sum += d
			if at < 0 && !(d <= tolerance*x.want) { // a NaN is an error too
				at = i
			}
		}
		if mean := sum / float64(len(x.have)); !(mean <= tolerance*x.want) {
			return fmt.Errorf("array %s is wrong from element %d on: %g where it must be %g", x.name, at, x.have[max(at, 0)], x.want)
		}
	}
	return nil
}

// expected are the elements of a, b and c after the repetitions.
func expected(reps int) (a, b, c float64) {
	a = 2
	for range reps {
		c = a
		b = scalar * c
		c = a + b
		a = b + scalar*c
	}
	return a, b, c
}
