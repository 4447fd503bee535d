package model

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// crew is a process of three threads with these run delays in ns and turns on a CPU.
func crew(delays, slices [3]uint64) *sample.Task {
	return task(10, func(t *sample.Task) {
		t.Threads, t.Have, t.RunNs, t.RunDelayNs = 3, sample.HaveTime|sample.HaveRun, slices[0], delays[0]
		t.Group = &sample.Threads{Have: sample.HaveRun}
		for i := range delays {
			t.Group.List = append(t.Group.List, sample.Thread{TID: kernel.TID(10 + i), RunDelayNs: delays[i], Slices: slices[i]})
		}
	})
}

func TestDelayIsTheMeanOfThreadsThatRan(t *testing.T) {
	first := Next(nil, at(0, crew([3]uint64{0, 0, 0}, [3]uint64{1, 1, 1})), nil)
	second := at(1, crew([3]uint64{1e8, 3e8, 9e8}, [3]uint64{2, 2, 1})) // the third did not run
	known(t, 20, Next(first, second, nil).Tasks[0].DelayPercent, "mean")

	late := at(1, crew([3]uint64{5e9, 5e9, 5e9}, [3]uint64{2, 2, 2}))
	known(t, 100, Next(first, late, nil).Tasks[0].DelayPercent, "a wait that began before the interval")

	rest := task(10, func(t *sample.Task) { t.Threads, t.Have, t.RunNs = 3, sample.HaveTime|sample.HaveRun, 1 })
	known(t, 0, Next(first, at(1, rest), nil).Tasks[0].DelayPercent, "none ran")
}

func TestMoveHistory(t *testing.T) {
	h := noMoves
	assert.False(t, h.Known())
	for _, perS := range []float32{0, 0.2, 1, 1.9, 2, 4, 63, 64, 127, 128, 1e6, Unknown} {
		h = h.add(perS)
	}
	var steps []int
	for i := range BounceLen {
		steps = append(steps, h.Step(i))
	}
	assert.Equal(t, []int{-1, -1, -1, -1, 0, 1, 1, 1, 2, 3, 6, 7, 7, 8, 8, -1}, steps)
}

func TestCalm(t *testing.T) {
	calm := (&Model{calm: true}).settle
	known(t, 4.2, (&Model{}).settle(4, 4.2), "as it is, for scripts")
	known(t, 5, calm(Unknown, 5), "the first figure")
	assert.False(t, Known(calm(5, Unknown)))
	known(t, 5, calm(4, 5), "a change")
	known(t, 4.025, calm(4, 4.2), "noise")
	v := float32(0.29)
	for range 20 {
		v = calm(v, 0)
	}
	assert.Zero(t, v, "what rests comes to 0")
}
