package sample

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// TestWhatNobodyTookIsCounted publishes three samples of which the reader takes
// the last: its interval is that of all three.
func TestWhatNobodyTookIsCounted(t *testing.T) {
	s := &Sampler{out: make(chan *Sample, 1)}
	first := &Sample{HaveMoves: true, MovesLost: 1, Traced: 7, StepsLost: 2, RunIntervalsLost: 3,
		Moves:        []Move{{TID: 7, From: 0, To: 1, Count: 2}, {TID: 8, From: 0, To: 1, Count: 5}},
		Steps:        []Step{{AtNs: 10, From: 0, To: 1}},
		Wakes:        Wakes{Of: 7, Over: 3, List: []Wake{{Wakee: WakeTask{TID: 7}, Count: 2}}, Lost: 1},
		RunIntervals: []RunInterval{{CPU: 1, TID: 7, Name: "old", RunNs: 5, WaitNs: 2, LongestNs: 4, Times: 3}, {CPU: 1, Kind: RunOfIRQ, Number: 7, Name: "eth0", RunNs: 1}}}
	s.publish(first)
	s.publish(&Sample{HaveMoves: true, MovesLost: 1, Traced: 7,
		Moves: []Move{{TID: 7, From: 1, To: 0, Count: 1}},
		Wakes: Wakes{Of: 7, Over: 4},
		Steps: []Step{{AtNs: 20, From: 1, To: 0}}})
	s.publish(&Sample{HaveMoves: true, Traced: 7,
		Moves:        []Move{{TID: 7, From: 0, To: 1, Count: 4}},
		Wakes:        Wakes{Of: 7, Over: 5, List: []Wake{{Wakee: WakeTask{TID: 7, CPU: 1}, Count: 1}, {Waker: WakeTask{TID: 7}, Count: 9}}},
		Steps:        []Step{{AtNs: 30, From: 0, To: 1}, {AtNs: 40, From: 1, To: 0}},
		RunIntervals: []RunInterval{{CPU: 1, TID: 7, Name: "new", RunNs: 10, LongestNs: 3, Times: 1}}})
	n := <-s.Samples()
	assert.Equal(t, uint64(2), s.replaced)
	assert.ElementsMatch(t, []Move{{TID: 7, From: 0, To: 1, Count: 6}, {TID: 7, From: 1, To: 0, Count: 1}, {TID: 8, From: 0, To: 1, Count: 5}}, n.Moves)
	assert.Equal(t, uint64(2), n.MovesLost)
	assert.Equal(t, []Step{{10, 0, 1}, {20, 1, 0}, {30, 0, 1}, {40, 1, 0}}, n.Steps, "in their order")
	assert.Equal(t, uint64(2), n.StepsLost)
	assert.Equal(t, Wakes{Of: 7, Over: 12, List: []Wake{{Wakee: WakeTask{TID: 7, CPU: 1}, Count: 3}, {Waker: WakeTask{TID: 7}, Count: 9}}, Lost: 1}, n.Wakes)
	assert.ElementsMatch(t, []RunInterval{{CPU: 1, TID: 7, Name: "new", RunNs: 15, WaitNs: 2, LongestNs: 4, Times: 4}, first.RunIntervals[1]}, n.RunIntervals)
	assert.Equal(t, uint64(3), n.RunIntervalsLost)

	next := &Sample{HaveMoves: true, Moves: []Move{{TID: 7, From: 0, To: 1, Count: 1}}}
	s.publish(next)
	assert.Equal(t, []Move{{TID: 7, From: 0, To: 1, Count: 1}}, (<-s.Samples()).Moves, "what was taken is not counted again")
}

func TestOtherTasksAndSourcesAreNotMixed(t *testing.T) {
	older := &Sample{HaveMoves: true, Moves: []Move{{TID: 7, Count: 1}}, MovesLost: 1, Traced: 7, Steps: []Step{{AtNs: 1}}, StepsLost: 1,
		Wakes: Wakes{Of: 7, Over: 1, List: []Wake{{Count: 1}}, Lost: 1}}
	n := &Sample{Traced: 8}
	n.takeIn(older)
	assert.Equal(t, &Sample{Traced: 8}, n)
}

// TestASlowReaderCostsNoMoreThanThat piles up more than there is room for.
func TestASlowReaderCostsNoMoreThanThat(t *testing.T) {
	older := &Sample{HaveMoves: true, Traced: 7, Steps: make([]Step, mostMerged), Moves: make([]Move, mostMerged), RunIntervals: make([]RunInterval, mostMerged)}
	for i := range mostMerged {
		older.Moves[i] = Move{TID: kernel.TID(i + 1), Count: 3}
		older.RunIntervals[i] = RunInterval{TID: kernel.TID(i + 1), Times: 2}
		older.Steps[i].AtNs = uint64(i)
	}
	n := &Sample{HaveMoves: true, Traced: 7, Steps: []Step{{AtNs: mostMerged, From: cpuset.CPU(1)}},
		Moves: []Move{{TID: mostMerged + 1, Count: 1}}, RunIntervals: []RunInterval{{TID: mostMerged + 1, Times: 1}}}
	n.takeIn(older)
	require.Len(t, n.Moves, mostMerged)
	require.Len(t, n.RunIntervals, mostMerged)
	require.Len(t, n.Steps, mostMerged)
	assert.Equal(t, uint64(3), n.MovesLost)
	assert.Equal(t, uint64(2), n.RunIntervalsLost)
	assert.Equal(t, uint64(1), n.StepsLost)
	assert.Equal(t, uint64(1), n.Steps[0].AtNs, "the oldest is lost")
}
