package auto

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/session"
)

// waited is a source of spans with one wait each, of so many ms; 0 is none.
type waited struct{ ms []int }

func (w *waited) Read() (o why.Observation, err error) {
	if d := time.Duration(w.ms[0]) * time.Millisecond; d > 0 {
		o.Woken[why.Bin(uint64(d))], o.Longest.Time = 1, d
	}
	w.ms = w.ms[1:]
	return o, nil
}

func (*waited) Close() {}

func fakeWaits(t *testing.T, ms ...int) {
	real := session.OpenSource
	session.OpenSource = func(watch.Targets) (session.Source, error) { return &waited{ms}, nil }
	t.Cleanup(func() { session.OpenSource = real })
}

func TestShorterWaitsAreBetter(t *testing.T) {
	fakeWaits(t, 500, 8, 500, 4, 500, 0) // what is between the periods does not count
	m, err := OpenMetric(t.Context(), procfs.FS{}, []kernel.TID{1, 2}, "wait-p99")
	require.NoError(t, err)
	defer m.Close()
	assert.Equal(t, []string{"1/wait-p99", "1/ms"}, []string{m.Name(), m.Unit()})
	var merits []float64
	for range 3 {
		span, err := m.Begin()
		require.NoError(t, err)
		figure, err := m.End(span)
		require.NoError(t, err)
		merits = append(merits, m.merit(figure))
	}
	assert.InEpsilon(t, 1.0/8, merits[0], 0.13)
	assert.InEpsilon(t, 1.0/4, merits[1], 0.13)
	assert.InDelta(t, 1000.0, merits[2], 1e-9, "no wait is as good as one of 1 µs, and finite")
	_, err = FindMetric("run-delay")
	assert.ErrorContains(t, err, "less of it is better")
}

func TestCandidateThatWaitsTooLongIsOut(t *testing.T) {
	fakeWaits(t, 0, 9, 0, 9, 0, 9, 0, 9, 0, 1, 0, 9, 0, 9) // a reading begins and ends each period
	g, err := ParseGuardrail("wait-p99<5ms")
	require.NoError(t, err)
	require.NoError(t, g.Open(t.Context(), procfs.FS{}, []kernel.TID{1}))
	defer g.Close()
	var out []bool
	for _, candidate := range []int{0, 0, 0, 1, 1, 1, 1} {
		require.NoError(t, g.start())
		hurt, err := g.violated(candidate)
		require.NoError(t, err)
		out = append(out, hurt)
	}
	assert.Equal(t, []bool{false, false, false, false, false, true, true}, out, "the kernel's own hurts nobody; by the median of three")
}
