package search

import (
	"math"

	"piton/internal/chart"
)

// most bounds a log ratio: 1,000 times as fast and a thousandth are as far as it goes. A
// process that stood still has a rate of 0, whose logarithm no average survives.
var most = math.Log(1000)

// LogRatio is the logarithm of chosen/base, both rates of 0 or more, within ±ln 1000. Two
// rates of 0 are alike: 0.
func LogRatio(chosen, base float64) float64 {
	switch {
	case chosen == base:
		return 0
	case base == 0:
		return most
	case chosen == 0:
		return -most
	}
	return min(max(math.Log(chosen)-math.Log(base), -most), most)
}

// logarithms are the periods' log ratios to their median rate above 0.
func logarithms(periods []period) []float64 {
	var positive []float64
	for _, p := range periods {
		if p.rate > 0 {
			positive = append(positive, p.rate)
		}
	}
	logs := make([]float64, len(periods))
	if len(positive) == 0 {
		return logs
	}
	typical := chart.Middle(positive)
	for i, p := range periods {
		logs[i] = LogRatio(p.rate, typical)
	}
	return logs
}
