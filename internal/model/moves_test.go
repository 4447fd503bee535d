package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// moved is a model of took seconds with these moves.
func moved(took float64, moves ...sample.Move) *Model {
	return &Model{Elapsed: time.Duration(took * float64(time.Second)),
		Sample: &sample.Sample{HaveMoves: true, Moves: moves}}
}

func move(tid kernel.TID, from, to cpuset.CPU, count uint32) sample.Move {
	return sample.Move{TID: tid, From: from, To: to, Count: count}
}

func TestMoveGroupsClassifyAsTheTopologyDoes(t *testing.T) {
	for _, cpus := range []int{1, 2, 8, 64} {
		topo := topologytest.Sized(cpus)
		for level := ByCPU; level <= ByNode; level++ {
			g := NewMoveGroups(topo, level)
			for a := range topo.Online.All() {
				for b := range topo.Online.All() {
					require.Equal(t, topo.Distance(a, b), between(g.at(uint16(a)), g.at(uint16(b))), "%d %d", a, b)
				}
				require.True(t, g.Groups[g.Index(a)].CPUs.Has(a))
			}
		}
	}
	g := NewMoveGroups(topologytest.Sized(2), ByCPU)
	assert.Equal(t, topology.OtherNode, between(g.at(0), g.at(77)))
	assert.Equal(t, -1, g.Index(77))
	assert.Equal(t, -1, g.Index(-1))
}

func TestMoveLevels(t *testing.T) {
	for _, tc := range []struct {
		cpus               int
		byCPU, byLLC, byNo int
		possible           []topology.Distance
	}{
		{1, 1, 1, 1, nil},
		{2, 2, 1, 1, []topology.Distance{topology.SameLLC}},
		{8, 8, 1, 1, []topology.Distance{topology.SMTSibling, topology.SameLLC}},
		{64, 64, 8, 4, []topology.Distance{topology.SameLLC, topology.SameNode, topology.OtherNode}},
		{512, 512, 32, 8, []topology.Distance{topology.SMTSibling, topology.SameLLC, topology.SameNode, topology.OtherNode}},
	} {
		topo := topologytest.Sized(tc.cpus)
		for level, want := range []int{tc.byCPU, tc.byLLC, tc.byNo} {
			assert.Len(t, NewMoveGroups(topo, MoveLevel(level)).Groups, want, "%d by %s", tc.cpus, MoveLevel(level))
		}
		assert.Equal(t, tc.possible, NewMoveGroups(topo, ByCPU).Possible(), "%d", tc.cpus)
	}
	large := topologytest.Synthetic(topologytest.Spec{Nodes: 2, LLCsPerNode: 4, CoresPerLLC: 256})
	assert.Equal(t, ByLLC, NewMoveGroups(large, ByCPU).Level, "2048 CPUs are too many for a table")
}

func TestMoveTable(t *testing.T) {
	topo := topologytest.Sized(8) // cores 0,4 1,5 2,6 3,7
	var w MoveWindow
	first := moved(1, move(10, 0, 4, 3), move(11, 0, 4, 1), move(10, 4, 1, 2))
	first.Sample.Tasks = []*sample.Task{{TID: 11, ID: &sample.Identity{Comm: "short"}}}
	w.Add(first)
	w.Add(moved(1, move(10, 0, 4, 5), move(12, 0, 99, 7)))
	g := NewMoveGroups(topo, ByCPU)

	last := w.Table(time.Second, g)
	assert.Equal(t, time.Second, last.Span)
	assert.Equal(t, uint32(5), last.Count(g.Index(0), g.Index(4)))
	assert.Equal(t, uint64(12), last.Total)
	assert.Equal(t, uint64(7), last.Elsewhere)
	assert.Equal(t, uint64(7), last.Classes[topology.OtherNode], "a CPU that the machine does not have is far")

	both := w.Table(10*time.Second, g)
	assert.Equal(t, 2*time.Second, both.Span, "what there is")
	assert.Equal(t, uint32(9), both.Count(g.Index(0), g.Index(4)))
	assert.Equal(t, uint64(9), both.Classes[topology.SMTSibling])
	assert.Equal(t, uint64(2), both.Classes[topology.SameLLC])
	assert.InDelta(t, 4.5, both.PerS(9), 1e-9)
	assert.Equal(t, topology.SMTSibling, both.ClassOf(g.Index(0), g.Index(4)))

	tasks, unnamed := w.Tasks(10*time.Second, g, g.Index(0), g.Index(4))
	assert.Equal(t, []MoveTask{{10, 8}, {11, 1}}, tasks)
	assert.Equal(t, "short", w.Name(11), "it has ended")
	assert.Empty(t, w.Name(10))
	assert.Zero(t, unnamed)

	node := NewMoveGroups(topo, ByNode)
	all := w.Table(10*time.Second, node)
	assert.Equal(t, uint32(11), all.Count(0, 0))
	assert.Equal(t, uint32(9), all.Within(0)[topology.SMTSibling])
	assert.Equal(t, topology.SMTSibling, all.ClassOf(0, 0))
}

func TestMoveWindowForgetsAfterAMinute(t *testing.T) {
	g := NewMoveGroups(topologytest.Sized(2), ByCPU)
	var w MoveWindow
	for range 100 {
		w.Add(moved(1.01, move(1, 0, 1, 2)))
	}
	assert.Len(t, w.ticks, 60)
	assert.Equal(t, 60, w.entries)
	table := w.Table(MoveSpan, g)
	assert.Equal(t, uint64(118), table.Total)
	assert.InDelta(t, 60, table.Span.Seconds(), 1)
	assert.InDelta(t, 10, w.Table(10*time.Second, g).Span.Seconds(), 0.6)

	w.Add(moved(300, move(1, 0, 1, 600))) // as after a suspend
	assert.Len(t, w.ticks, 1)
	assert.Equal(t, 300*time.Second, w.Table(time.Second, g).Span, "no finer than the ticks")
}

func TestMoveWindowWithoutMoves(t *testing.T) {
	var w MoveWindow
	w.Add(moved(1, move(1, 0, 1, 1)))
	assert.True(t, w.Have())
	w.Add(&Model{Elapsed: time.Second, Sample: &sample.Sample{}})
	assert.False(t, w.Have())
	assert.Empty(t, w.ticks)
	w.Add(moved(0, move(1, 0, 1, 1)))
	assert.True(t, w.Have())
	assert.Zero(t, w.Table(time.Second, NewMoveGroups(topologytest.Sized(2), ByCPU)).Total, "the first model has no interval")
}

func TestMoveWindowIsBounded(t *testing.T) {
	g := NewMoveGroups(topologytest.Sized(8), ByCPU)
	w := MoveWindow{room: 20}
	tick := func(seed int) *Model {
		var moves []sample.Move
		for i := range 10 {
			moves = append(moves, move(kernel.TID(seed+i+1), cpuset.CPU(i%2), cpuset.CPU(2+i%2), 1))
		}
		return moved(1, moves...)
	}
	for seed := range 5 {
		w.Add(tick(seed))
		assert.LessOrEqual(t, w.entries, 20)
	}
	table := w.Table(MoveSpan, g)
	assert.Equal(t, uint64(50), table.Total, "no move is forgotten while pairs fit")
	tasks, unnamed := w.Tasks(MoveSpan, g, g.Index(0), g.Index(2))
	assert.Len(t, tasks, 5)
	assert.Equal(t, uint32(20), unnamed)

	for seed := range 20 {
		w.Add(tick(seed))
		assert.LessOrEqual(t, w.entries, 20)
	}
	table = w.Table(MoveSpan, g)
	assert.Equal(t, table.Total, uint64(10*table.Span.Seconds()), "what is left is whole ticks")

	var many []sample.Move
	for i := range 30 {
		many = append(many, move(1, cpuset.CPU(i), cpuset.CPU(i+1), 2))
	}
	w = MoveWindow{room: 20}
	w.Add(moved(1, many...))
	table = w.Table(time.Second, g)
	assert.Equal(t, uint64(20), table.Lost)
	assert.Equal(t, uint64(40), table.Total)
}

// busy is a model of moves by tasks between random CPUs.
func busyMoves(cpus, moves int) *Model {
	list := make([]sample.Move, moves)
	x := uint32(1)
	next := func(n int) int { x = x*1664525 + 1013904223; return int(x>>8) % n }
	for i := range list {
		list[i] = move(kernel.TID(next(30000)+1), cpuset.CPU(next(cpus)), cpuset.CPU(next(cpus)), 1)
	}
	return moved(1, list...)
}

func BenchmarkMoveWindow(b *testing.B) {
	for _, moves := range []int{1000, 100000} {
		m := busyMoves(512, moves)
		b.Run(fmt.Sprintf("add-%d", moves), func(b *testing.B) {
			b.ReportAllocs()
			var w MoveWindow
			for b.Loop() {
				w.Add(m)
			}
			b.ReportMetric(float64(w.entries*12)/1e6, "MB-kept")
		})
		var w MoveWindow
		for range 60 {
			w.Add(m)
		}
		for level := ByCPU; level <= ByNode; level++ {
			g := NewMoveGroups(topologytest.Sized(512), level)
			b.Run(fmt.Sprintf("table-%d-%s", moves, level), func(b *testing.B) {
				for b.Loop() {
					w.Table(MoveSpan, g)
				}
			})
		}
	}
}

func TestMoversAreRankedWithTheirMainPair(t *testing.T) {
	var w MoveWindow
	w.Add(moved(1, move(10, 0, 4, 3), move(11, 2, 1, 9), move(11, 1, 2, 8), move(11, 1, 3, 2)))
	w.Add(moved(1, move(10, 0, 4, 5), move(12, 5, 6, 1)))
	movers, took := w.Movers(10*time.Second, NewMoveGroups(topologytest.Sized(8), ByCPU), 2)
	assert.Equal(t, 2*time.Second, took)
	assert.Equal(t, []Mover{
		{TID: 11, Count: 19, CPUs: 3, A: 2, B: 1, Out: 9, Back: 8, Class: topology.SameLLC},
		{TID: 10, Count: 8, CPUs: 2, A: 0, B: 4, Out: 8, Class: topology.SMTSibling},
	}, movers)
}
