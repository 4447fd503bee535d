package why

import "time"

// Add adds the counts of another.
func (b *Bins) Add(other *Bins) {
	for i, n := range other {
		b[i] += n
	}
}

// Count is how many durations were counted.
func (b *Bins) Count() (n uint64) {
	for _, c := range b {
		n += c
	}
	return n
}

// Quantile is the duration that a share q of the counted ones does not exceed: the middle of its
// bin, at most longest; 0 of none.
func (b *Bins) Quantile(q float64, longest time.Duration) time.Duration {
	n := b.Count()
	if n == 0 {
		return 0
	}
	rank := uint64(q * float64(n-1)) // from 0
	for i, c := range b {
		if rank < c {
			middle := BinStart(i)
			if i < len(b)-1 {
				middle = (middle + BinStart(i+1)) / 2
			}
			return min(middle, longest)
		}
		rank -= c
	}
	return longest
}

// Octaves are the counts by powers of two of 1 µs, the first those below; what is empty at the end
// is left out.
func (b *Bins) Octaves() []uint64 {
	out := []uint64{b[0]}
	for i := 1; i < len(b); i += 4 {
		sum := uint64(0)
		for _, c := range b[i:min(i+4, len(b))] {
			sum += c
		}
		out = append(out, sum)
	}
	for len(out) > 1 && out[len(out)-1] == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// atLeast is how many counted durations are surely that long.
func (b *Bins) atLeast(d time.Duration) (n uint64) {
	for i := range b {
		if BinStart(i) >= d {
			n += b[i]
		}
	}
	return n
}
