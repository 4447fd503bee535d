package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// wakeTask is thread tid of process tid/10*10, on a CPU.
func wakeTask(tid kernel.TID, cpu cpuset.CPU) sample.WakeTask {
	return sample.WakeTask{TID: tid, TGID: tid / 10 * 10, Comm: map[bool]string{true: "", false: "t"}[tid == 0], CPU: cpu}
}

func wake(waker, wakee kernel.TID, n uint64) sample.Wake {
	return sample.Wake{Waker: wakeTask(waker, cpuset.CPU(waker%10)), Wakee: wakeTask(wakee, cpuset.CPU(wakee%10)), Count: n}
}

var someWakes = []sample.Wake{
	wake(11, 20, 10), wake(20, 11, 400), wake(12, 20, 90), // process 10 with 20
	wake(11, 12, 6), // within process 10
	wake(0, 11, 50), wake(0, 20, 7), wake(20, 30, 1000),
}

func TestPartners(t *testing.T) {
	assert.Equal(t, []Partner{
		{TID: 20, TGID: 20, Comm: "t", PerS: 250, WokenPerS: 50, WakesPerS: 200},
		{PerS: 25, WakesPerS: 25},
		{TID: 11, TGID: 10, Comm: "t", CPU: 1, PerS: 3, WakesPerS: 3},
		{TID: 12, TGID: 10, Comm: "t", CPU: 2, PerS: 3, WokenPerS: 3},
	}, Partners([]kernel.TID{10}, someWakes, 2*time.Second))
	assert.Equal(t, kernel.TID(20), Partners([]kernel.TID{30}, someWakes, time.Second)[0].TID)
	assert.Empty(t, Partners([]kernel.TID{40}, someWakes, time.Second))
	assert.Empty(t, Partners([]kernel.TID{10}, someWakes, 0))
	moved := []sample.Wake{wake(20, 11, 1), wake(11, 20, 1)}
	moved[0].Waker.CPU, moved[1].Wakee.CPU = 7, 3
	for range 2 {
		assert.Equal(t, cpuset.CPU(7), Partners([]kernel.TID{10}, moved, time.Second)[0].CPU, "where it ran when it woke")
		moved[0], moved[1] = moved[1], moved[0]
	}
}

func TestWakePairs(t *testing.T) {
	pairs := WakePairs(someWakes)
	type short struct {
		a, b        kernel.TID
		wakes, back uint64
	}
	var got []short
	for _, p := range pairs {
		got = append(got, short{p.A.TID, p.B.TID, p.Wakes, p.Back})
	}
	assert.Equal(t, []short{{20, 30, 1000, 0}, {20, 11, 400, 10}, {12, 20, 90, 0}, {0, 11, 50, 0}, {0, 20, 7, 0}, {11, 12, 6, 0}}, got)
	assert.Empty(t, WakePairs(nil))
}
