package wakeup

import "fmt"

// Knuth's linear congruential generator for MMIX (The Art of Computer Programming, volume 2, 3.3.4).
const (
	multiplier = 6364136223846793005
	increment  = 1442695040888963407
)

// compute is what a request works out: so many thousand steps of the generator from a seed.
func compute(seed uint64, ksteps int) uint64 {
	for range ksteps * 1000 {
		seed = seed*multiplier + increment
	}
	return seed
}

// expected is the sum of all requests, by a jump over all steps: they are x·a + c together, too,
// with a and c by repeated squaring.
func expected(o Options) (sum uint64) {
	a, c := uint64(1), uint64(0)
	stepA, stepC := uint64(multiplier), uint64(increment)
	for n := o.KSteps * 1000; n > 0; n >>= 1 {
		if n&1 == 1 {
			a, c = a*stepA, c*stepA+stepC
		}
		stepA, stepC = stepA*stepA, stepC*stepA+stepC
	}
	for number := range uint64(o.Requests) {
		sum += number*a + c
	}
	return sum
}

func answer(sum uint64) string { return fmt.Sprintf("%016x", sum) }
