package stripio

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestPicture(t *testing.T) {
	costs, shape := Costs{10e-6, 40e-6}, Shape{Servers: 16, Cores: 2, Requests: 100, Programs: 2}
	missed := uint64(3200)
	r := Result{MBs: 1234, CPUPercent: 49, Transfers: 1, Misses: &missed, Model: &Model{Costs: costs, Shape: shape, Prediction: Predict(costs, shape)}}
	text := strings.Join(r.Picture(100), "\n")
	for _, want := range []string{"1,230 MB/s with 49 % of the CPUs; 200 cache misses per strip", "█", "░", "is faster: surely"} {
		assert.Contains(t, text, want)
	}
	for _, width := range []int{1, 20, 60, 200} {
		for _, line := range r.Picture(width) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), width)
		}
	}
	r.Model, r.ModelWhy, r.Misses, r.MissesWhy = nil, "one CPU", nil, "no PMU here"
	text = strings.Join(r.Picture(100), "\n")
	assert.Contains(t, text, "no PMU here")
	assert.Contains(t, text, "no model: one CPU")
}
