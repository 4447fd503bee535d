package standstill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStood(t *testing.T) {
	assert.True(t, Stood{Sum: time.Minute, Longest: most}.Judged(t))
	assert.False(t, Stood{Longest: most + 1}.Judged(t))

	var s Stood
	looks := 0
	assert.True(t, s.Await(time.Minute, func() bool {
		if looks++; looks == 1 {
			time.Sleep(3 * ordinary)
		}
		return looks == 2
	}))
	assert.GreaterOrEqual(t, s.Longest, 2*ordinary)
	assert.GreaterOrEqual(t, s.Sum, s.Longest)

	s = Stood{}
	const limit = 2 * step
	began := time.Now()
	assert.False(t, s.Await(limit, func() bool { return false }))
	assert.GreaterOrEqual(t, time.Since(began), limit+s.Sum, "its own time, without standstills")
	assert.GreaterOrEqual(t, Watch()().Longest, time.Duration(0))
}
