package sample

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func TestTallyNeverFalls(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "p", threads: 3})
	for tid, moves := range map[int]int{5: 1, 6: 10, 7: 100} {
		h.task(stub{pid: 5, tid: tid, comm: "t", moves: moves})
	}
	s := h.sampler(Needs{Migrations: true, Watch: []kernel.TID{5}})
	moves := func() uint64 {
		n := h.read(s)
		require.Equal(t, SourceSched, n.Tasks[0].MigrationSource)
		return n.Tasks[0].Migrations
	}
	assert.EqualValues(t, 111, moves())
	h.remove("proc/5/task/7") // a thread ended
	h.task(stub{pid: 5, comm: "p", threads: 2})
	h.task(stub{pid: 5, tid: 6, comm: "t", moves: 14})
	assert.EqualValues(t, 115, moves(), "what it counted stays")
	h.task(stub{pid: 5, comm: "p", threads: 3})
	h.task(stub{pid: 5, tid: 8, comm: "t", moves: 5}) // born and moved since
	assert.EqualValues(t, 120, moves())
	h.task(stub{pid: 5, tid: 8, comm: "t", moves: 2}) // another thread with the number
	assert.EqualValues(t, 122, moves())
}

func TestTooManyThreadsAreALabelledLowerBound(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "p", threads: tallyThreads + 1, cpu: 0})
	s := h.sampler(Needs{Migrations: true, Watch: []kernel.TID{5}})
	h.read(s)
	h.task(stub{pid: 5, comm: "p", threads: tallyThreads + 1, cpu: 1})
	n := h.read(s)
	assert.Equal(t, SourceSampled, n.Tasks[0].MigrationSource)
	assert.EqualValues(t, 1, n.Tasks[0].Migrations)
	assert.Zero(t, n.Tasks[0].Have&HaveSwitches)
}

func TestTheLiveliestGetTheBudget(t *testing.T) {
	h := newTree(t)
	const tasks = schedBudget + 20
	write := func(sample int) {
		for i := range tasks {
			h.task(stub{pid: 10 + i, comm: "t", slices: sample * (i + 1), run: sample, moves: 9})
		}
	}
	write(1)
	s := h.sampler(Needs{Migrations: true, Delay: true})
	h.read(s)
	write(2)
	n := h.read(s)
	for i := range n.Tasks {
		want := SourceSched
		if i < tasks-schedBudget {
			want = SourceSampled
		}
		assert.Equal(t, want, n.Tasks[i].MigrationSource, "task %d", i)
	}
}

func TestExactCountsAreCarriedWhileATaskSleeps(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "t", run: 10, slices: 1, moves: 3})
	s := h.sampler(Needs{Migrations: true, Watch: []kernel.TID{5}})
	h.read(s)
	s.SetNeeds(Needs{Migrations: true})
	h.remove("proc/5/sched") // it must not be needed
	n := h.read(s)
	assert.Equal(t, SourceSched, n.Tasks[0].MigrationSource)
	assert.EqualValues(t, 3, n.Tasks[0].Migrations)

	h.task(stub{pid: 5, comm: "t", run: 11, slices: 2, cpu: 1})
	h.remove("proc/5/sched")
	n = h.read(s)
	assert.Equal(t, SourceSampled, n.Tasks[0].MigrationSource, "it ran, and the file is gone")
	assert.EqualValues(t, 1, n.Tasks[0].Migrations)
}
