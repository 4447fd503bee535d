package sample

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// startFlippable starts a process with a thread that always runs, so that each
// change of its mask moves it, and returns a function that flips it between two
// CPUs n times.
func startFlippable(t *testing.T) (pid, tid kernel.TID, flip func(n int)) {
	online, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	if online.Len() < 2 {
		t.Skip("one CPU: nothing can migrate")
	}
	cpus := online.CPUs()[:2]
	spinner := start(t, "spin", "73")
	pid, tid = spinner.PID, spinner.TIDs[0]
	fs := procfs.New("/")
	require.Eventually(t, func() bool { // a task that sleeps is moved only when it wakes
		b, err := fs.File(fmt.Sprint(pid), "task", fmt.Sprint(tid), "schedstat")
		require.NoError(t, err)
		st, err := procfs.ParseSchedstat(b)
		require.NoError(t, err)
		return st.RunNs > 20e6
	}, time.Minute, 10*time.Millisecond, "it never began to spin")
	task := spinner.Tasks(t)[0]
	set := func(cpu cpuset.CPU) { require.NoError(t, task.SetAffinity(cpuset.Of(cpu))) }
	set(cpus[0])
	at := 0
	return pid, tid, func(n int) {
		for range n {
			at = 1 - at
			set(cpus[at])
		}
	}
}

func TestEveryMoveIsTold(t *testing.T) {
	s := exactSampler(t, Needs{Threads: true})
	hides, err := bpf.HidesTasks()
	require.NoError(t, err)
	pid, tid, flip := startFlippable(t)
	before, err := s.Read()
	require.NoError(t, err)
	flip(200)
	var n *Sample
	var told, all, in, out uint64
	// A task that is throttled by its cgroup moves when it may run again. One that moved while
	// before was read is begun with anew.
	require.Eventually(t, func() bool {
		if n != nil && told > 0 && !slices.ContainsFunc(n.Moves, func(m Move) bool { return m.TID == tid }) {
			before, n, told, all, in, out = n, nil, 0, 0, 0, 0
			flip(200)
		}
		last := before
		if n != nil {
			last = n
		}
		n, err = s.Read()
		require.NoError(t, err)
		require.True(t, n.HaveMoves)
		require.Zero(t, n.MovesLost)
		for _, m := range n.Moves {
			all += uint64(m.Count)
			if m.TID == tid {
				told += uint64(m.Count)
			}
		}
		for i := range n.CPUs {
			in += n.CPUs[i].MigrationsIn - last.CPUs[i].MigrationsIn
			out += n.CPUs[i].MigrationsOut - last.CPUs[i].MigrationsOut
		}
		counted := find(n, tid).Migrations - find(before, tid).Migrations
		returned := find(n, tid).PingPongs > 0 // not by the first moves of a busy machine
		return told > 0 && returned && (told == counted || hides && told+3 >= counted)
	}, time.Minute, 20*time.Millisecond, "what is told is what the kernel counts of the thread")
	assert.Equal(t, []uint64{all, all}, []uint64{in, out})

	thread, process := find(n, tid), find(n, pid)
	assert.GreaterOrEqual(t, process.Migrations-find(before, pid).Migrations, told)
	assert.Equal(t, HavePingPongs, thread.Have&HavePingPongs)
	assert.Positive(t, thread.PingPongs)
	assert.LessOrEqual(t, thread.PingPongs, told)
	assert.GreaterOrEqual(t, process.PingPongs, thread.PingPongs)
	later, err := s.Read()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, find(later, tid).PingPongs, thread.PingPongs, "carried on")
}

// The kernel's counts go with the threads that end; a process keeps them.
func TestMigrationsOfEndedThreadsStay(t *testing.T) {
	b := &bpfMigrations{}
	source := newBPFWalk(nil, liveSampler(t, Needs{}).fs, nil)
	record := func(threads int32, living uint64) bpf.Record {
		return bpf.Record{Thread: bpf.Thread{TID: 7, TGID: 7, Migrations: living, Mask: bpf.NoMask}, Threads: threads, StartNs: 5e9}
	}
	var before []*Task
	tick := func(r bpf.Record, returns bool, moved ...bpf.MoveCount) *Task {
		source.records = []bpf.Record{r}
		w := &walk{needs: newWanted(Needs{}), before: before, returns: returns}
		source.convert(w, &bpf.WalkStats{}, nil)
		b.counts = moved
		b.sumProcesses()
		slices.SortFunc(b.counts, func(x, y bpf.MoveCount) int { return int(x.TID - y.TID) })
		if returns {
			b.credit(w.tasks)
		}
		before = w.tasks
		return w.tasks[0]
	}
	move := func(tid kernel.TID, n uint32) bpf.MoveCount {
		return bpf.MoveCount{TID: tid, TGID: 7, Moves: n, Returns: 1}
	}
	assert.EqualValues(t, 10, tick(record(1, 10), true).Migrations)
	assert.EqualValues(t, 12, tick(record(1, 12), true, move(7, 2)).Migrations, "the kernel's own count of a single thread")
	assert.EqualValues(t, 17, tick(record(2, 17), true, move(7, 2), move(8, 3)).Migrations)
	last := tick(record(1, 13), true, move(7, 1), move(8, 4), move(9, 2))
	assert.EqualValues(t, 24, last.Migrations, "8 ended, 9 came and went")
	assert.EqualValues(t, 6, last.PingPongs)
	assert.EqualValues(t, 24, tick(record(1, 13), true).Migrations)
	// Without counts of moves what goes with a thread cannot be told, but nothing falls.
	assert.EqualValues(t, 24, tick(record(1, 9), false).Migrations)
	assert.EqualValues(t, 25, tick(record(1, 10), false).Migrations)
}

// A published sample stays as it is, although rows are shared.
func TestCreditLeavesTheSampleBeforeAlone(t *testing.T) {
	b := &bpfMigrations{counts: []bpf.MoveCount{{TID: 8, TGID: 7, Moves: 3, Returns: 2}}}
	before := []*Task{{TID: 7, TGID: 7, summed: true, Migrations: 10}, {TID: 8, TGID: 7}, {TID: 9, TGID: 9}}
	was := []Task{*before[0], *before[1], *before[2]}
	now := slices.Clone(before)
	b.sumProcesses()
	b.credit(now)
	assert.Equal(t, was, []Task{*before[0], *before[1], *before[2]})
	assert.EqualValues(t, 13, now[0].Migrations)
	assert.EqualValues(t, 2, now[1].PingPongs)
	assert.Same(t, before[2], now[2])
}
