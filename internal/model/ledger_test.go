package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

const ms = uint64(time.Millisecond)

func stayed(took float64, intervals ...sample.RunInterval) *Model {
	return &Model{Elapsed: time.Duration(took * float64(time.Second)), Sample: &sample.Sample{RunIntervals: intervals}}
}

func ran1(cpu cpuset.CPU, tid kernel.TID, name string, run, wait, longest uint64) sample.RunInterval {
	return sample.RunInterval{CPU: cpu, TID: tid, Name: name, RunNs: run * ms, WaitNs: wait * ms, LongestNs: longest * ms, Times: 2}
}

func TestLedger(t *testing.T) {
	irq := sample.RunInterval{CPU: 3, Kind: sample.RunOfIRQ, Number: 24, Name: "eth0", RunNs: 30 * ms, LongestNs: ms, Times: 900}
	soft := sample.RunInterval{CPU: 3, Kind: sample.RunOfSoftIRQ, Number: 3, Name: "NET_RX", RunNs: 60 * ms, LongestNs: 2 * ms, Times: 700}
	var w RunWindow
	w.Add(stayed(1, ran1(3, 7, "old", 100, 10, 4), irq, ran1(2, 8, "elsewhere", 900, 0, 9)))
	w.Add(stayed(1, ran1(3, 7, "new", 300, 20, 3), soft, ran1(3, 24, "twenty-four", 5, 0, 1)))
	l := w.Ledger(10*time.Second, 3)
	assert.Equal(t, 2*time.Second, l.Span)
	assert.Equal(t, []LedgerEntry{
		{TID: 7, Name: "new", Run: 400 * time.Millisecond, Wait: 30 * time.Millisecond, Longest: 4 * time.Millisecond, Times: 4},
		{Kind: sample.RunOfSoftIRQ, Number: 3, Name: "NET_RX", Run: 60 * time.Millisecond, Longest: 2 * time.Millisecond, Times: 700},
		{Kind: sample.RunOfIRQ, Number: 24, Name: "eth0", Run: 30 * time.Millisecond, Longest: time.Millisecond, Times: 900},
		{TID: 24, Name: "twenty-four", Run: 5 * time.Millisecond, Longest: time.Millisecond, Times: 2},
	}, l.Entries)
	assert.InDelta(t, 0.2, l.Share(&l.Entries[0]), 1e-6)
	assert.InDelta(t, 0.3, func() float32 { l := w.Ledger(time.Second, 3); return l.Share(&l.Entries[0]) }(), 1e-6)
	assert.Empty(t, w.Ledger(time.Second, 5).Entries)
}

func TestLedgerCountsFromWhereItBegan(t *testing.T) {
	var w RunWindow
	w.Add(stayed(1, ran1(0, 7, "hog", 150, 0, 1), ran1(0, 0, "swapper/0", 50, 0, 1))) // attached for the last 200 ms
	l := w.Ledger(time.Second, 0)
	assert.Equal(t, 200*time.Millisecond, l.Span)
	assert.Equal(t, 50*time.Millisecond, l.Idle)
	assert.Len(t, l.Entries, 1, "idling takes nothing from anybody")
	assert.InDelta(t, 0.75, l.Share(&l.Entries[0]), 1e-6)
}

func TestStayWindowIsBounded(t *testing.T) {
	w := RunWindow{room: 10}
	for range 100 {
		w.Add(stayed(1, ran1(0, 7, "a", 1, 0, 1), ran1(0, 8, "b", 1, 0, 1), ran1(1, 9, "c", 1, 0, 1)))
		assert.LessOrEqual(t, w.intervals, 10)
	}
	assert.Equal(t, 3*time.Second, w.Ledger(MoveSpan, 0).Span)
	w = RunWindow{}
	for range 100 {
		w.Add(stayed(1, ran1(0, 7, "a", 1, 0, 1)))
	}
	assert.Equal(t, MoveSpan, w.Ledger(MoveSpan, 0).Span)
	assert.True(t, w.Have())
	w.Add(stayed(1))
	w.Add(stayed(0, ran1(0, 7, "a", 1, 0, 1)))
	assert.Equal(t, 60, w.intervals, "a sample without any, or without an interval, adds nothing")
	w.Reset()
	assert.False(t, w.Have())
	assert.Zero(t, w.Ledger(MoveSpan, 0).Span)
}

func TestTrailKeepsTheLastMovesOfOneTask(t *testing.T) {
	var tr Trail
	for i := range 300 {
		tr.Add(7, &sample.Sample{Steps: []sample.Step{{AtNs: uint64(2 * i)}, {AtNs: uint64(2*i + 1)}}, StepsLost: 1})
	}
	assert.Len(t, tr.Steps, TrailLen)
	assert.Equal(t, uint64(599), tr.Steps[TrailLen-1].AtNs)
	assert.Equal(t, uint64(88), tr.Steps[0].AtNs)
	assert.Equal(t, uint64(300), tr.Lost)
	tr.Add(8, &sample.Sample{Steps: []sample.Step{{AtNs: 5}}})
	assert.Equal(t, Trail{TID: 8, Steps: []sample.Step{{AtNs: 5}}}, tr)
}
