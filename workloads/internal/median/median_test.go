package median

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 4}, 4}, {[]float64{4, 1, 9, 2}, 3},
	} {
		assert.InDelta(t, tt.want, Of(tt.values), 1e-12, "%v", tt.values)
	}
	values := []float64{3, 1, 2}
	Of(values)
	assert.Equal(t, []float64{3, 1, 2}, values, "they stay in their order")
}
