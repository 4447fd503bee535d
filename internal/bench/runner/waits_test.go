package runner

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/session"
)

// source tells of waits that get longer: 90 of 1 ms and ten of 8, 16, 24 … ms.
type source struct{ reads int }

func (s *source) Read() (o why.Observation, err error) {
	s.reads++
	long := time.Duration(8*s.reads) * time.Millisecond
	o.Woken[why.Bin(uint64(time.Millisecond))], o.Preempted[why.Bin(uint64(long))] = 90, 10
	o.Longest.Time = long
	return o, nil
}

func (s *source) Close() { s.reads = -1 }

func fakeWaits(t *testing.T, open func(watch.Targets) (session.Source, error)) {
	real := session.OpenSource
	session.OpenSource = open
	t.Cleanup(func() { session.OpenSource = real })
}

func TestWaitsAreFiguresOfTheirSpan(t *testing.T) {
	var s *source
	var of watch.Targets
	fakeWaits(t, func(t watch.Targets) (session.Source, error) {
		s, of = &source{}, t
		return s, nil
	})
	for name, want := range map[string][]float64{"wait-p50": {1, 1}, "wait-p99": {8, 16}} {
		rate, is := SpanRate(name)
		require.True(t, is)
		m, err := rate.Open(procfs.FS{}, watch.Targets{IDs: []kernel.TID{3, 4}})
		require.NoError(t, err)
		assert.Equal(t, []kernel.TID{3, 4}, of.IDs, "judged together")
		for _, ms := range want {
			got, err := m.Grown()
			require.NoError(t, err)
			assert.InEpsilon(t, ms, rate.Of(got, 5), 0.13, "%s: within a bin, whatever the time", name)
		}
		m.Close()
		assert.Equal(t, -1, s.reads)
	}

	res, err := newRunner(t).Run(t.Context(), bench.Study{Workload: bench.CommandWorkload, Args: []string{"true"}, Placements: []bench.Placement{bench.Normal},
		Runs: 1, Figure: bench.Figure{Pattern: "wait-p99", Unit: "ms"}}, nil)
	require.NoError(t, err)
	require.Len(t, res.Runs, 1)
	assert.Empty(t, res.Runs[0].Err)
	assert.InEpsilon(t, 8, res.Runs[0].Metric, 0.13, "of a command's whole run")
	assert.Equal(t, watch.Tree, of.Scope, "with what it starts")

	fakeWaits(t, func(watch.Targets) (session.Source, error) { return nil, feature.ErrNotSupported })
	rate, _ := SpanRate("wait-p99")
	_, err = rate.Open(procfs.FS{}, watch.Targets{})
	assert.True(t, errors.Is(err, feature.ErrNotSupported))
}
