// Package stats has what rank tests need: the difference of two samples, or of pairs,
// with its interval, and probabilities corrected for the number of tests. It is pure.
package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/mathx"
	moremath "github.com/aclements/go-moremath/stats"
)

// Shift is by how much ys lie above xs: the Hodges-Lehmann estimate, which is
// the median of all differences between one of ys and one of xs, with the
// interval that belongs to the Mann-Whitney test. The interval leaves out 0
// just when that test rejects, so the two never contradict each other (Hollander,
// Wolfe & Chicken, Nonparametric Statistical Methods, section 4.2-4.3).
func Shift(xs, ys []float64, confidence float64) (estimate, low, high float64, haveInterval bool) {
	d := newDifferences(xs, ys)
	return middle(d.len(), d.at, lowerRank(len(xs), len(ys), (1-confidence)/2))
}

// middle is the median of n values in their order, with the interval from the kth to the kth
// from the end; there is none for k = 0.
func middle(n int, at func(rank int) float64, k int) (median, low, high float64, haveInterval bool) {
	median = (at((n-1)/2) + at(n/2)) / 2
	if k == 0 {
		return median, 0, 0, false
	}
	return median, at(k - 1), at(n - k), true
}

// SmallestP is the two-sided p value of the Mann-Whitney test for samples of m and n that do
// not overlap: 2 / (m+n over m).
func SmallestP(m, n int) float64 { return min(2/mathx.Choose(m+n, m), 1) }

// lowerRank is the largest k with P(U ≤ k-1) ≤ tail for the Mann-Whitney
// statistic U of samples of m and n from one distribution; 0 if there is none.
func lowerRank(m, n int, tail float64) int {
	if m*n > 2500 { // the normal approximation is as good there
		mean := float64(m*n) / 2
		sd := math.Sqrt(float64(m*n) * float64(m+n+1) / 12)
		return max(int(math.Floor(mean-0.5+sd*NormalQuantile(tail)))+1, 0)
	}
	u := moremath.UDist{N1: m, N2: n}
	return sort.Search(m*n, func(k int) bool { return u.CDF(float64(k)) > tail })
}

// NormalTail is the chance that a value of the standard normal distribution is above z.
func NormalTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// NormalQuantile is the value that one of that distribution is below with the chance p.
func NormalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// Holm corrects p values for being several (Holm, 1979): the chance that any
// of them is below a level by luck alone stays at that level.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out, highest := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		highest = max(highest, min(1, ps[i]*float64(len(ps)-rank)))
		out[i] = highest
	}
	return out
}

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

// MostlyAbove reports whether more differences of one of ys and one of xs are above 0 than
// below: what the Mann-Whitney test goes by, also where so many are 0 that their median is.
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

// order numbers the floating-point numbers in their order; ordered is its inverse. Those
// below 0 have the sign bit, and more of the others the lower they are.
func order(v float64) uint64 {
	if math.Signbit(v) {
		return ^math.Float64bits(v)
	}
	return math.Float64bits(v) | 1<<63
}

func ordered(n uint64) float64 {
	if n>>63 == 0 {
		return math.Float64frombits(^n)
	}
	return math.Float64frombits(n &^ (1 << 63))
}

// exactPairs is the largest number of pairs for which the distribution of the
// signed-rank statistic is computed. Above it the normal approximation differs by
// less than 0.0005 (TestSignedRankApproximation).
const exactPairs = 100

// SignedRank is the one-sided p value of Wilcoxon's signed-rank test: the chance
// that differences symmetric around 0 have a sum of positive ranks as large as that
// of ds. It is exact, also with ties, given the sizes of the differences: if a coin
// decided each order, the signs are independent whatever the noise. Differences of 0
// have no sign and are left out (Wilcoxon, 1945; Hollander, Wolfe & Chicken,
// Nonparametric Statistical Methods, section 3.1). It is 1 where none is left.
func SignedRank(ds []float64) float64 {
	doubled, sum := doubledRanks(ds)
	n := len(doubled)
	if n == 0 {
		return 1
	}
	if n > exactPairs {
		mean, variance := 0.0, 0.0
		for _, r := range doubled {
			mean += float64(r) / 2
			variance += float64(r) * float64(r) / 4
		}
		return NormalTail((float64(sum) - 1 - mean) / math.Sqrt(variance))
	}
	p := 0.0
	for _, q := range signedRankDistribution(doubled)[sum:] {
		p += q
	}
	return min(p, 1)
}

// doubledRanks are twice the ranks of the sizes of those that are not 0, so that
// ranks shared by equal sizes are integers, and the sum over the positive ones.
func doubledRanks(ds []float64) (doubled []int, positive int) {
	sized := slices.DeleteFunc(slices.Clone(ds), func(d float64) bool { return d == 0 })
	slices.SortFunc(sized, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for i := 0; i < len(sized); {
		end := i + 1
		for end < len(sized) && math.Abs(sized[end]) == math.Abs(sized[i]) {
			end++
		}
		for _, d := range sized[i:end] {
			doubled = append(doubled, i+1+end)
			if d > 0 {
				positive += i + 1 + end
			}
		}
		i = end
	}
	return doubled, positive
}

// signedRankDistribution is the probability of each sum of those of ranks that a fair
// coin chooses.
func signedRankDistribution(ranks []int) []float64 {
	row, reached := []float64{1}, 0
	for _, r := range ranks {
		reached += r
		next := make([]float64, reached+1)
		for sum, p := range row {
			next[sum] += p / 2
			next[sum+r] += p / 2
		}
		row = next
	}
	return row
}

// Center is the Hodges-Lehmann estimate of the value that ds are symmetric around:
// the median of the averages of all pairs of them, each with itself too (Walsh
// averages). The interval belongs to the signed-rank test at (1-confidence)/2 on each
// side. Without ties it leaves out 0 just when that test rejects. There is none
// where ds are too few for the confidence. Memory grows with the square of len(ds).
func Center(ds []float64, confidence float64) (estimate, low, high float64, haveInterval bool) {
	n := len(ds)
	if n == 0 {
		return math.NaN(), 0, 0, false
	}
	walsh := make([]float64, 0, n*(n+1)/2)
	for i, a := range ds {
		for _, b := range ds[i:] {
			walsh = append(walsh, a/2+b/2)
		}
	}
	slices.Sort(walsh)
	return middle(len(walsh), func(rank int) float64 { return walsh[rank] }, lowerSignedRank(n, (1-confidence)/2))
}

// lowerSignedRank is the largest k with P(W ≤ k-1) ≤ tail for the sum of positive
// ranks W of n pairs without ties; 0 if there is none.
func lowerSignedRank(n int, tail float64) int {
	if n > exactPairs {
		mean := float64(n*(n+1)) / 4
		sd := math.Sqrt(mean * float64(2*n+1) / 6)
		return max(int(math.Floor(mean-0.5+sd*NormalQuantile(tail)))+1, 0)
	}
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	sum := 0.0
	for k, p := range signedRankDistribution(ranks) {
		if sum += p; sum > tail {
			return k
		}
	}
	return 0
}
