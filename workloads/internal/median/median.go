// Package median has the middle of some figures.
package median

import "slices"

// Of is the median, between the middle two of an even number; 0 of none.
func Of(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
