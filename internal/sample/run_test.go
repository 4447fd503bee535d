package sample

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running runs a sampler on a host tree within a bubble of synctest.
func running(t *testing.T, interval time.Duration, body func(t *testing.T, s *Sampler, stop func() error)) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "five"})
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{Root: h.root, Interval: interval})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		body(t, s, func() error { cancel(); return <-done })
		require.NoError(t, s.Close())
		_, err = s.Read()
		assert.Error(t, err, "closed")
	})
}

func TestRunPublishesAtTheInterval(t *testing.T) {
	running(t, time.Second, func(t *testing.T, s *Sampler, stop func() error) {
		for i := range 5 {
			n := <-s.Samples()
			assert.Equal(t, uint64(i+1), n.Seq)
			assert.Equal(t, time.Duration(i)*time.Second, n.At)
			assert.Zero(t, n.Late)
		}
		s.SetInterval(200 * time.Millisecond)
		assert.Equal(t, 4200*time.Millisecond, (<-s.Samples()).At)
		assert.Equal(t, 4400*time.Millisecond, (<-s.Samples()).At)
		require.NoError(t, stop())
		_, open := <-s.Samples()
		assert.False(t, open)
	})
}

func TestASlowReaderMissesSamples(t *testing.T) {
	running(t, time.Second, func(t *testing.T, s *Sampler, stop func() error) {
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		n := <-s.Samples()
		assert.Equal(t, uint64(11), n.Seq, "the newest")
		assert.Equal(t, uint64(12), (<-s.Samples()).Seq)
		assert.Equal(t, uint64(10), (<-s.Samples()).Replaced)
		require.NoError(t, stop())
	})
}

func TestRefreshKeepsADistance(t *testing.T) {
	running(t, time.Minute, func(t *testing.T, s *Sampler, stop func() error) {
		<-s.Samples()
		time.Sleep(10 * time.Millisecond)
		s.Refresh()
		s.Refresh()
		assert.Equal(t, 50*time.Millisecond, (<-s.Samples()).At, "one sample, 50 ms after the last")
		time.Sleep(time.Second)
		s.Refresh()
		assert.Equal(t, 1050*time.Millisecond, (<-s.Samples()).At, "at once")
		assert.Equal(t, 61050*time.Millisecond, (<-s.Samples()).At, "and on with the interval")
		require.NoError(t, stop())
	})
}

func TestNeedsChangeFromOutside(t *testing.T) {
	running(t, time.Second, func(t *testing.T, s *Sampler, stop func() error) {
		assert.Zero(t, (<-s.Samples()).Tasks[0].Have&HaveAffinity)
		s.SetNeeds(Needs{Affinity: true, Identity: true})
		n := <-s.Samples()
		assert.NotZero(t, n.Tasks[0].Have&HaveAffinity)
		assert.True(t, n.Tasks[0].ID.Full)
		require.NoError(t, stop())
	})
}
