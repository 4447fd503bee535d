package auto

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAxisOfOneEstimate: periods that hardly differ are drawn in the middle of ±1 %, not
// spread over an axis of billionths.
func TestAxisOfOneEstimate(t *testing.T) {
	s := &State{Candidates: []Candidate{{Name: Kernel}}}
	s.Now.Candidates = slices.Grow(s.Now.Candidates, 1)[:1]
	s.Now.Candidates[0].Rates = []float64{100, 100.0000001, 100}
	head, strips := s.Strips().Cells(60, false)
	low, high := 0.0, 0.0
	for _, tick := range regexp.MustCompile(`-?[0-9.]+(e-?[0-9]+)?`).FindAllString(head, -1) {
		v, err := strconv.ParseFloat(tick, 64)
		require.NoError(t, err)
		low, high = min(low, v), max(high, v)
	}
	require.LessOrEqual(t, low, -0.5, head)
	require.GreaterOrEqual(t, high, 0.5, head)
	require.Regexp(t, `^ {28,31}\S+ +$`, strips[0])
}
