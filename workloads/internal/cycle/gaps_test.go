package cycle

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestGapsAreInOrderAndLong(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, c := range []Counter{Best(5 * time.Millisecond), Coarse()} {
		floor := c.Ticks(200 * time.Nanosecond)
		begin := c.Now()
		until := begin + c.Ticks(20*time.Millisecond)
		buf := make([]Gap, 100_000)
		n, end := c.Gaps(t.Context(), buf, floor, until)
		assert.GreaterOrEqual(t, end, until, c.Source)
		last := begin
		for _, g := range buf[:n] {
			assert.GreaterOrEqual(t, g.Start, last)
			assert.Greater(t, g.End-g.Start, floor)
			assert.LessOrEqual(t, g.End, end)
			last = g.End
			if c.Source == TSC {
				assert.GreaterOrEqual(t, g.CPU, int64(0))
			} else {
				assert.Equal(t, int64(-1), g.CPU)
			}
		}
		n, end = c.Gaps(t.Context(), buf[:3], 0, c.Now()+c.Ticks(time.Second))
		assert.Equal(t, 3, n, "the buffer is full")
		assert.Equal(t, buf[2].End, end)
		n, _ = c.Gaps(t.Context(), nil, 0, until)
		assert.Zero(t, n)
	}
}

// The garbage collector and other goroutines go on meanwhile, and the end of the
// context ends it.
func TestGapsEndWithTheContext(t *testing.T) {
	for _, c := range []Counter{Best(time.Millisecond), Coarse()} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		go runtime.GC()
		_, end := c.Gaps(ctx, make([]Gap, 1), ^uint64(0)>>1, ^uint64(0))
		assert.Less(t, end, ^uint64(0))
		assert.Error(t, ctx.Err())
		cancel()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := Coarse()
	n, _ := c.Gaps(ended, make([]Gap, 9), 0, ^uint64(0))
	assert.LessOrEqual(t, n, 1)
}
