// Package stats has what rank tests need: the difference of two samples, or of pairs,
// with its interval, and probabilities corrected for the number of tests. It is pure.
package stats

import (
	"math"
	"slices"
)

// Shift is by how much ys lie above xs: the Hodges-Lehmann estimate, which is
// the median of all differences between one of ys and one of xs, with the
// interval that belongs to the Mann-Whitney test. The interval leaves out 0
// just when that test rejects, so the two never contradict each other (Hollander,
// Wolfe & Chicken, Nonparametric Statistical Methods, section 4.2-4.3).
func Shift(xs, ys []float64, confidence float64) (estimate, low, high float64, haveInterval bool) {
	d := newDifferences(xs, ys)
	estimate = (d.at((d.len()-1)/2) + d.at(d.len()/2)) / 2
	k := lowerRank(len(xs), len(ys), (1-confidence)/2)
	if k == 0 {
		return estimate, 0, 0, false
	}
	return estimate, d.at(k - 1), d.at(d.len() - k), true
}

// lowerRank is the largest k with P(U ≤ k-1) ≤ tail for the Mann-Whitney
// statistic U of samples of m and n from one distribution; 0 if there is none.
func lowerRank(m, n int, tail float64) int {
	if m*n > 2500 { // the normal approximation is as good there
		mean := float64(m*n) / 2
		sd := math.Sqrt(float64(m*n) * float64(m+n+1) / 12)
		return max(int(math.Floor(mean-0.5+sd*math.Sqrt2*math.Erfinv(2*tail-1)))+1, 0)
	}
	sum := 0.0
	for k, p := range distribution(m, n) {
		if sum += p; sum > tail {
			return k
		}
	}
	return 0
}

// distribution is P(U = u) for u = 0..m·n without ties. The largest of all m+n
// values is one of the m with probability m/(m+n), and then above all n others:
// P(m,n,u) = m/(m+n)·P(m-1,n,u-n) + n/(m+n)·P(m,n-1,u) (Mann & Whitney, 1947).
func distribution(m, n int) []float64 {
	row := make([][]float64, n+1) // for the number of xs done so far, by the number of ys
	for j := range row {
		row[j] = []float64{1}
	}
	for i := 1; i <= m; i++ {
		next := make([][]float64, n+1)
		next[0] = []float64{1}
		for j := 1; j <= n; j++ {
			p := make([]float64, i*j+1)
			a, b := float64(i)/float64(i+j), float64(j)/float64(i+j)
			for u, q := range row[j] {
				p[u+j] += a * q
			}
			for u, q := range next[j-1] {
				p[u] += b * q
			}
			next[j] = p
		}
		row = next
	}
	return row[n]
}

// Holm corrects p values for being several (Holm, 1979): the chance that any
// of them is below a level by luck alone stays at that level.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ps[a] < ps[b]:
			return -1
		case ps[a] > ps[b]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(ps))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, ps[i]*float64(len(ps)-rank)))
		out[i] = highest
	}
	return out
}
