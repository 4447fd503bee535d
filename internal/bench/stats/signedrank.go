package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

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
		return distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance)}.Survival(float64(sum) - 1)
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
		return max(int(math.Floor(distuv.Normal{Mu: mean - 0.5, Sigma: sd}.Quantile(tail)))+1, 0)
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
