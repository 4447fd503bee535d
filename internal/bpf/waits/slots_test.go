package waits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// TestSeveralTargets are told apart, and changed while they are watched.
func TestSeveralTargets(t *testing.T) {
	cpu := lastCPU(t)
	var children [3]*child
	var of [3]Targets
	for i := range children {
		children[i] = start(t, cpu, "nap", i+1)
		of[i] = Targets{Threads: children[i].TIDs}
	}
	ran := func(i int) (sum time.Duration) {
		for _, tid := range children[i].TIDs {
			s, err := procfs.New("/").Schedstat(children[i].PID, tid)
			require.NoError(t, err)
			sum += time.Duration(s.RunNs)
		}
		return sum
	}
	now := func() (all [3]time.Duration) {
		for i := range children {
			all[i] = ran(i)
		}
		return all
	}
	begun := now() // or earlier
	// Each has so many threads as it was started with, and ran at most what the kernel says, since.
	look := func(w *Watcher, which ...int) {
		since := begun
		begun = now()
		all, err := w.Read()
		require.NoError(t, err)
		require.Len(t, all, len(which))
		for at, i := range which {
			assert.Equal(t, i+1, all[at].Threads, i)
			assert.LessOrEqual(t, all[at].Ran, ran(i)-since[i], i)
			assert.Positive(t, all[at].Ran, i)
			assert.Positive(t, all[at].Waited, i)
			holdsTogether(t, all[at])
		}
	}
	const while = 100 * time.Millisecond
	w := need(t, of[0])
	require.NoError(t, w.Watch(of[0], of[1], of[0]))
	time.Sleep(while)
	look(w, 0, 1, 0)
	time.Sleep(while / 2)
	require.NoError(t, w.Watch(of[1], of[2]))
	time.Sleep(while / 2)
	look(w, 1, 2)

	// So many that slots are taken which others had.
	for try := range 3 {
		others := []Targets{of[1], of[2]}
		for i := len(others); i < MostTargets; i++ {
			others = append(others, Targets{Threads: []kernel.TID{kernel.TID(1<<30 + MostTargets*try + i)}})
		}
		require.NoError(t, w.Watch(others...))
	}
	require.NoError(t, w.Watch(of[2], of[0], of[1]))
	time.Sleep(while)
	look(w, 2, 0, 1)

	var many []Targets
	for i := range MostTargets + 1 {
		many = append(many, Targets{Processes: []kernel.TID{kernel.TID(i + 1)}})
	}
	require.NoError(t, w.Watch(many[1:]...))
	require.NoError(t, w.Watch(many[:MostTargets]...))
	assert.ErrorContains(t, w.Watch(many...), "129 targets are more than the 128 that can be watched at once")
}

// TestTheClosestTargetHasTheTask is so whatever their order.
func TestTheClosestTargetHasTheTask(t *testing.T) {
	c := start(t, lastCPU(t), "nap", 2)
	w := need(t, Targets{Processes: []kernel.TID{c.PID}})
	for _, targets := range [][]Targets{
		{{Processes: []kernel.TID{c.PID}}, {Threads: c.TIDs[:1]}},
		{{Threads: c.TIDs[:1]}, {Processes: []kernel.TID{c.PID}}},
		{{Threads: c.TIDs[:1]}, {Threads: c.TIDs, Processes: []kernel.TID{c.PID}}},
	} {
		require.NoError(t, w.Watch(targets...))
		all, err := w.Read()
		require.NoError(t, err)
		first := all[0].Threads
		if len(targets[0].Processes) > 0 {
			first = all[1].Threads
		}
		assert.Equal(t, 1, first)
		assert.Greater(t, all[0].Threads+all[1].Threads, 2)
	}
}
