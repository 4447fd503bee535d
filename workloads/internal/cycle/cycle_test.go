package cycle

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestCounterRunsWithTheClock(t *testing.T) {
	for _, c := range []Counter{Best(10 * time.Millisecond), Coarse()} {
		if !hardware {
			assert.Equal(t, Clock, c.Source)
		}
		assert.Positive(t, c.Hz, c.Source)
		begin, count := time.Now(), c.Now()
		time.Sleep(20 * time.Millisecond)
		seconds := c.Seconds(c.Now() - count)
		took := time.Since(begin).Seconds()
		assert.GreaterOrEqual(t, seconds, 0.9*0.02, c.Source)
		assert.LessOrEqual(t, seconds, 1.1*took, c.Source)
		assert.InDelta(t, float64(c.Hz), float64(c.Ticks(time.Second)), 1)
	}
}

func TestCounterTellsTheCPU(t *testing.T) {
	c := Best(time.Millisecond)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := kernel.System().Affinity(0)
	assert.NoError(t, err)
	defer func() { assert.NoError(t, kernel.System().SetAffinity(0, home)) }()
	for cpu := range home.All() {
		assert.NoError(t, kernel.System().SetAffinity(0, cpuset.Of(cpu)))
		if got := c.CPU(); c.Source == TSC {
			assert.Equal(t, int(cpu), got)
		} else {
			assert.Equal(t, -1, got)
		}
	}
}

func TestCoreFrequency(t *testing.T) {
	hz := Best(10 * time.Millisecond).CoreHz()
	if !hardware {
		assert.Zero(t, hz)
		return
	}
	assert.Greater(t, hz, 0.2e9)
	assert.Less(t, hz, 10e9)
	t.Logf("%.3f GHz", hz/1e9)
}

func BenchmarkNow(b *testing.B) {
	c := Best(time.Millisecond)
	for b.Loop() {
		c.Now()
	}
}

func TestCounterLikeAnother(t *testing.T) {
	for _, c := range []Counter{Best(time.Millisecond), Coarse()} {
		same, err := Like(c.Source, c.Hz)
		assert.NoError(t, err)
		first, between, last := c.Now(), same.Now(), c.Now()
		assert.GreaterOrEqual(t, same.Seconds(between), c.Seconds(first)-5e-6)
		assert.LessOrEqual(t, same.Seconds(between), c.Seconds(last)+5e-6)
	}
	_, err := Like("sundial", 1)
	assert.Error(t, err)
	_, err = Like(Clock, 0)
	assert.Error(t, err)
}
