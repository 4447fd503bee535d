package watch

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology"
)

// twoNodes has CPUs 0 and 1 as siblings, 2 beside them, and 3 on another node.
func twoNodes() *topology.Topology {
	near := cpuset.Of(0, 1, 2)
	core := cpuset.Of(0, 1)
	return topology.Describe([]topology.CPU{
		{ID: 0, Online: true, Core: core, LLC: near}, {ID: 1, Online: true, Core: core, LLC: near},
		{ID: 2, Online: true, Core: cpuset.Of(2), LLC: near}, {ID: 3, Online: true, Core: cpuset.Of(3), LLC: cpuset.Of(3), Node: 1},
	}, 1<<30, 20)
}

func TestTotals(t *testing.T) {
	totals := Totals{Topo: twoNodes()}
	totals.Add(&Batch{})
	assert.Empty(t, totals.Pairs())
	totals.Add(&Batch{
		Moves: []Move{{1, 10, 10, 0, 1}, {2, 10, 10, 1, 2}, {3, 11, 10, 2, 3}},
		Counts: []Count{
			{TID: 11, TGID: 10, From: 2, To: 3, N: 5},             // lost lines
			{TID: 12, TGID: 10, From: Unknown, To: Unknown, N: 7}, // by /proc
			{From: Unknown, To: Unknown, N: 2},                    // not even the task
		},
		Unfollowed: 1,
	})
	assert.EqualValues(t, 3+5+7+2, totals.Moves)
	assert.EqualValues(t, 9, totals.NoPair)
	assert.EqualValues(t, 2, totals.NoTask)
	assert.EqualValues(t, 1, totals.Unfollowed)
	assert.Equal(t, []TaskTotal{{12, 10, 7}, {11, 10, 6}, {10, 10, 2}}, totals.Tasks())
	assert.Equal(t, []PairTotal{
		{Pair{2, 3}, topology.OtherNode, 6}, {Pair{0, 1}, topology.SMTSibling, 1}, {Pair{1, 2}, topology.SameLLC, 1},
	}, totals.Pairs())
	assert.EqualValues(t, 6, totals.ByDistance[topology.OtherNode])
	assert.EqualValues(t, 1, totals.ByDistance[topology.SMTSibling])
}

// fakeSource moves a task once a second and ends after so many.
type fakeSource struct {
	moves, end int
	at         time.Time
	fail       error
	stopped    bool
}

func (*fakeSource) Kind() sample.Source  { return sample.SourceBPF }
func (*fakeSource) Single() bool         { return true }
func (*fakeSource) Every() time.Duration { return 100 * time.Millisecond }
func (*fakeSource) Close()               {}

func (f *fakeSource) Left() (bool, error) { return f.end == 0 || f.moves < f.end, nil }

func (f *fakeSource) Read(b *Batch) error {
	for ; time.Since(f.at) >= time.Second; f.at = f.at.Add(time.Second) {
		f.moves++
		b.Moves = append(b.Moves, Move{TID: 1, TGID: 1, From: 0, To: 1})
	}
	return f.fail
}

func (f *fakeSource) Stop(b *Batch) error {
	f.stopped = true
	return f.Read(b)
}

func TestRunEnds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		src    fakeSource
		length time.Duration
		cancel time.Duration // of the context
		on     error
		moves  uint64
		took   time.Duration
		want   error
	}{
		{name: "when its time is over, with the last moves", length: 5*time.Second + time.Millisecond, moves: 5, took: 5*time.Second + time.Millisecond},
		{name: "when it is interrupted", cancel: 3 * time.Second, moves: 3, took: 3 * time.Second},
		{name: "when no target is left", src: fakeSource{end: 2}, moves: 2, took: 2 * time.Second},
		{name: "when reading fails", src: fakeSource{fail: io.ErrUnexpectedEOF}, took: 100 * time.Millisecond, want: io.ErrUnexpectedEOF},
		{name: "when nobody wants it", on: io.ErrClosedPipe, took: 100 * time.Millisecond, want: io.ErrClosedPipe},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				src, totals, began := tt.src, Totals{Topo: twoNodes()}, time.Now()
				src.at = began
				err := Run(ctx, &src, tt.length, func(b *Batch) error { totals.Add(b); return tt.on })
				assert.ErrorIs(t, err, tt.want)
				assert.Equal(t, tt.moves, totals.Moves)
				assert.InDelta(t, tt.took, time.Since(began), float64(leftEvery))
				assert.Equal(t, tt.want == nil, src.stopped)
			})
		})
	}
}

// gate is a writer that waits to be let through.
type gate struct {
	strings.Builder
	open chan struct{}
	err  error
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	if g.err != nil {
		return 0, g.err
	}
	return g.Builder.Write(b)
}

func TestOutlet(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	o := NewOutlet(g, 10)
	taken := 0
	for range 100 { // at most 10 wait to be written and 10 are being written
		ok, err := o.Offer([]byte("12345"))
		require.NoError(t, err)
		if ok {
			taken++
		}
	}
	assert.Greater(t, taken, 1)
	assert.LessOrEqual(t, taken, 4)
	close(g.open)
	require.NoError(t, o.Close())
	assert.Equal(t, strings.Repeat("12345", taken), g.String(), "what was taken is written")
}

func TestOutletTellsOfFailure(t *testing.T) {
	broken := errors.New("broken")
	g := &gate{open: make(chan struct{}), err: broken}
	close(g.open)
	o := NewOutlet(g, 1000)
	require.Eventually(t, func() bool {
		_, err := o.Offer([]byte("x"))
		return errors.Is(err, broken)
	}, time.Minute, time.Millisecond)
	assert.ErrorIs(t, o.Close(), broken)
}

func TestOutletKeepsOrder(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	o := NewOutlet(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return got.Write(b)
	}), 1<<20)
	var want strings.Builder
	for i := range 5000 {
		line := []byte{byte('a' + i%26), '\n'}
		want.Write(line)
		ok, err := o.Offer(line)
		require.True(t, ok)
		require.NoError(t, err)
	}
	require.NoError(t, o.Close())
	assert.Equal(t, want.String(), got.String())
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func ids(n ...kernel.TID) []kernel.TID { return n }
