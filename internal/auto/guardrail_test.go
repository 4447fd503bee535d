package auto

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuardrails(t *testing.T) {
	for text, ok := range map[string]bool{
		"other=12": true, "file:/run/p99<5": true, "file:/a<b>1e3": true, "other=x": false, "other=+12": false, "other=012": false, "other=-1": false, "p99<5": false,
		"p99<5ms": true, "p99.9<1s": true, "p0<5ms": false, "p101<5ms": false, "x99<5ms": false,
		"wait-p99<5ms": true, "wait-p50<1us": true, "wait-share<10%": true, "wait-share<10": false, "wait-share<101%": false, "wait-p99<0s": false, "wait-p99<5%": false,
		"switches<5ms": false, "<5ms": false, "p99<-5ms": false, "pnan<1s": false, "file:<5": false, "file:/a": false, "file:/a<": false, "file:/a<nan": false,
	} {
		g, err := ParseGuardrail(text)
		assert.Equal(t, ok, err == nil, "%s: %v", text, err)
		if ok && err == nil {
			assert.Equal(t, text, g.String())
		}
	}
	g, err := ParseGuardrail("other=12")
	require.NoError(t, err)
	for range 5 {
		assert.False(t, g.add(0, 100), "the kernel's own hurts nobody")
	}
	assert.Equal(t, []bool{false, false, true}, []bool{g.add(1, 80), g.add(1, 120), g.add(1, 70)}, "by the median of three")
	assert.Equal(t, []bool{false, false, false}, []bool{g.add(2, 95), g.add(2, 10), g.add(2, 92)})
	g, err = ParseGuardrail("p99<5ms")
	require.NoError(t, err)
	hurts := func(candidate int, ms ...time.Duration) (out []bool) {
		for _, wait := range ms {
			out = append(out, g.exceeds(candidate, float64(wait*time.Millisecond), float64(g.longest)))
		}
		return out
	}
	assert.Equal(t, []bool{false, false, false, false}, hurts(0, 9, 9, 9, 9))
	assert.Equal(t, []bool{false, false, true, false}, hurts(1, 9, 1, 9, 1))
}
