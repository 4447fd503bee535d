package watch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/kernel"
)

// fakeMoves is a ring: each Read takes the next part of what there is.
type fakeMoves struct {
	parts      [][]bpf.Move
	full       []uint64 // by Read: moves that found the ring full since the last one
	tables     [][]bpf.MoveCount
	unfollowed uint64
	stopped    bool
	left       []kernel.TID
}

// The end of a task that the program was not told of is seen in /proc.
func TestLeft(t *testing.T) {
	f := &fakeMoves{}
	s := &kernelSource{moves: f, exists: func(id kernel.TID) bool { return id == 7 }}
	for want, ids := range map[bool][]kernel.TID{true: {5, 7}, false: {5}} {
		f.left = ids
		left, err := s.Left()
		require.NoError(t, err)
		assert.Equal(t, want, left)
	}
	f.left = nil
	left, err := s.Left()
	require.NoError(t, err)
	assert.False(t, left)
}

func (f *fakeMoves) Read(into []bpf.Move) ([]bpf.Move, uint64, error) {
	var lost uint64
	if len(f.full) > 0 {
		lost, f.full = f.full[0], f.full[1:]
	}
	if len(f.parts) > 0 {
		into, f.parts = append(into, f.parts[0]...), f.parts[1:]
	}
	return into, lost, nil
}

func (f *fakeMoves) Lost(into []bpf.MoveCount) ([]bpf.MoveCount, error) {
	if len(f.tables) > 0 {
		into, f.tables = append(into, f.tables[0]...), f.tables[1:]
	}
	return into, nil
}

func (f *fakeMoves) Unfollowed() (uint64, error) { return f.unfollowed, nil }
func (f *fakeMoves) Left() ([]kernel.TID, error) { return f.left, nil }
func (f *fakeMoves) Stop()                       { f.stopped = true }
func (f *fakeMoves) Close()                      {}

// A move that is lost between the reading of the ring and that of the table is
// in the table first and in the ring's count afterwards, and counted once.
func TestLostMovesCountOnce(t *testing.T) {
	f := &fakeMoves{
		parts: [][]bpf.Move{{{TID: 1, TGID: 1, From: 0, To: 1}}, {}, {}},
		full:  []uint64{3, 1, 2},
		tables: [][]bpf.MoveCount{
			{{TID: 1, TGID: 1, From: 1, To: 0, Moves: 4}}, // 3, and 1 that came since
			{},
			{{TID: 2, TGID: 1, From: 0, To: 2, Moves: 1}}, // of the 2: the other had no room
		},
		unfollowed: 7,
	}
	s := &kernelSource{moves: f, accounts: accounts{}}
	totals := Totals{Topo: twoNodes()}
	for range 2 {
		var b Batch
		require.NoError(t, s.Read(&b))
		totals.Add(&b)
	}
	assert.EqualValues(t, 5, totals.Moves)
	var b Batch
	require.NoError(t, s.Stop(&b))
	totals.Add(&b)
	assert.True(t, f.stopped)
	assert.EqualValues(t, 1+3+1+2, totals.Moves)
	assert.EqualValues(t, 1, totals.NoTask)
	assert.EqualValues(t, 7, totals.Unfollowed)
	assert.Equal(t, []TaskTotal{{1, 1, 5}, {2, 1, 1}}, totals.Tasks())
}

// The program takes the number of a process's first thread for the process.
func TestOneThreadAlone(t *testing.T) {
	f := &fakeMoves{
		parts:  [][]bpf.Move{{{TID: 5, TGID: 5, From: 0, To: 1}, {TID: 6, TGID: 5, From: 0, To: 1}}},
		full:   []uint64{4},
		tables: [][]bpf.MoveCount{{{TID: 5, TGID: 5, From: 1, To: 0, Moves: 1}, {TID: 6, TGID: 5, From: 1, To: 0, Moves: 3}}},
	}
	s := &kernelSource{moves: f, only: ids(5), accounts: accounts{}}
	totals := Totals{Topo: twoNodes()}
	for _, read := range []func(*Batch) error{s.Read, s.Stop} {
		var b Batch
		require.NoError(t, read(&b))
		totals.Add(&b)
	}
	assert.Equal(t, []TaskTotal{{5, 5, 2}}, totals.Tasks())
	assert.EqualValues(t, 2, totals.Moves)
}
