package bpf

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// flips is how often flip moves threads from CPU to CPU: less often on the
// emulated CPUs of make guests.
var flips = func() int {
	if bpftest.InGuest {
		return 400
	}
	return 2000
}()

// flip gives the threads one CPU after the other as their only one, n times in
// all, and returns how often each thread was told to move. A spinning thread
// has moved when the call returns.
func flip(tb testing.TB, tasks []kernel.Task, cpus []cpuset.CPU, n int) {
	tb.Helper()
	for i := range n {
		err := tasks[i%len(tasks)].SetAffinity(cpuset.Of(cpus[i/len(tasks)%len(cpus)]))
		require.NoError(tb, err)
	}
}

// freeze stops a child, so that none of its threads moves any more, and returns
// se.nr_migrations of each by /proc.
func freeze(t *testing.T, c *bpftest.Child) map[kernel.TID]uint64 {
	t.Helper()
	require.NoError(t, syscall.Kill(int(c.PID), syscall.SIGSTOP))
	all := map[kernel.TID]uint64{}
	require.Eventually(t, func() bool {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.PID))
		require.NoError(t, err)
		for _, thread := range threads {
			s, ok := see(fmt.Sprintf("/proc/%d/task/%s", c.PID, thread.Name()))
			if !ok || s.stat.State != 'T' {
				return false
			}
			all[s.stat.TID] = s.sched.Migrations
		}
		return true
	}, bpftest.Patience, bpftest.Tick)
	return all
}

// thaw lets a frozen child go on.
func thaw(t *testing.T, c *bpftest.Child) {
	t.Helper()
	require.NoError(t, syscall.Kill(int(c.PID), syscall.SIGCONT))
}

func hidesTasks(t *testing.T) bool {
	t.Helper()
	hides, err := HidesTasks()
	if err != nil {
		return false // the test itself says what it needs
	}
	return hides
}

func twoCPUs(t *testing.T) []cpuset.CPU {
	t.Helper()
	cpus := onlineCPUs(t)
	if len(cpus) < 2 {
		t.Skip("a migration takes two CPUs")
	}
	return []cpuset.CPU{cpus[0], cpus[len(cpus)-1]}
}

func TestMigrationsAreExact(t *testing.T) {
	hides := hidesTasks(t)
	cpus := twoCPUs(t)
	m := bpftest.Must(t, 5, 8, OpenMigrations)
	defer m.Close()
	spinner := start(t, append([]string{"spin"}, hex("a", "b", "c", "d")...)...)
	before := freeze(t, spinner)
	_, _, err := m.Drain(nil)
	require.NoError(t, err)
	thaw(t, spinner)
	counted := map[kernel.TID]uint64{}
	pairs := map[[2]cpuset.CPU]uint64{}
	var lost, sum uint64
	drain := func() {
		counts, stats, err := m.Drain(nil)
		require.NoError(t, err)
		lost += stats.Lost
		for _, c := range counts {
			require.NotEqual(t, c.From, c.To)
			require.LessOrEqual(t, c.Returns, c.Moves)
			if c.TGID == spinner.PID {
				counted[c.TID] += uint64(c.Moves)
				pairs[[2]cpuset.CPU{c.From, c.To}] += uint64(c.Moves)
			}
			sum += uint64(c.Moves)
		}
	}
	for range 10 { // drained while they move
		flip(t, spinner.Tasks(t), cpus, flips/10)
		drain()
	}
	after := freeze(t, spinner)
	drain()

	require.Zero(t, lost)
	for tid := range after {
		bpftest.Told(t, after[tid]-before[tid], counted[tid], hides, "thread %d", tid)
	}
	var there, back, total uint64
	for pair, n := range pairs {
		if pair[0] == cpus[0] {
			there += n
		}
		if pair[1] == cpus[0] {
			back += n
		}
		total += n
	}
	slack := float64(len(after))
	if hides {
		slack += 3
	}
	assert.InDelta(t, there, back, slack, "each that left came back, but for the last")
	assert.Greater(t, total, uint64(flips/2), "they did move")
	t.Logf("%d moves counted and by /proc; %d of all tasks", total, sum)
}

// A task that leaves and comes back at once is ping-pong; one that takes its
// time, or goes on to a third CPU, is not.
func TestReturns(t *testing.T) {
	cpus := twoCPUs(t)
	m := bpftest.Must(t, 5, 8, OpenMigrations)
	defer m.Close()
	spinner := start(t, append([]string{"spin"}, hex("pong")...)...)
	tid, tasks := spinner.TIDs[0], spinner.Tasks(t)
	returns := func() (moves, returns uint32) {
		counts, _, err := m.Drain(nil)
		require.NoError(t, err)
		for _, c := range counts {
			if c.TID == tid {
				moves += c.Moves
				returns += c.Returns
			}
		}
		return moves, returns
	}
	require.NoError(t, tasks[0].SetAffinity(cpuset.Of(cpus[0])))
	time.Sleep(150 * time.Millisecond)
	returns()
	require.NoError(t, tasks[0].SetAffinity(cpuset.Of(cpus[1])))
	time.Sleep(150 * time.Millisecond)
	require.NoError(t, tasks[0].SetAffinity(cpuset.Of(cpus[0])))
	moves, back := returns()
	assert.Equal(t, uint32(2), moves)
	assert.Zero(t, back, "150 ms later")

	time.Sleep(150 * time.Millisecond)
	began := time.Now()
	flip(t, tasks, []cpuset.CPU{cpus[1], cpus[0]}, 8)
	if took := time.Since(began); took > 100*time.Millisecond {
		t.Skipf("flipping took %v: too slow a machine for this", took)
	}
	moves, back = returns()
	assert.Equal(t, uint32(8), moves)
	assert.Equal(t, uint32(7), back, "all but the first come back to a CPU just left")
}

func TestMigrationsAfterClose(t *testing.T) {
	m := bpftest.Must(t, 5, 8, OpenMigrations)
	m.Close()
	m.Close()
	_, _, err := m.Drain(nil)
	assert.ErrorIs(t, err, object.ErrClosed)
}

func TestMovesInOrder(t *testing.T) {
	hides := hidesTasks(t)
	cpus := twoCPUs(t)
	m := bpftest.Must(t, 5, 8, func() (*Moves, error) { return OpenMoves(MovesBytes) })
	defer m.Close()
	spinner := start(t, append([]string{"spin"}, hex("a", "b", "c", "d")...)...)
	other := start(t, append([]string{"spin"}, hex("other")...)...)
	before := freeze(t, spinner)
	require.NoError(t, m.SetTargets(spinner.PID))
	began := kernel.Monotonic()
	thaw(t, spinner)
	var moves []Move
	for range 10 {
		flip(t, spinner.Tasks(t), cpus, flips/10)
		flip(t, other.Tasks(t), cpus, 10)
		var lost uint64
		var err error
		moves, lost, err = m.Read(moves)
		require.NoError(t, err)
		require.Zero(t, lost)
	}
	after := freeze(t, spinner)
	moves, lost, err := m.Read(moves)
	require.NoError(t, err)
	require.Zero(t, lost)

	at, next := map[kernel.TID]uint16{}, map[kernel.TID]uint32{}
	counted := map[kernel.TID]uint64{}
	for _, one := range moves {
		require.Equal(t, spinner.PID, one.TGID, "only the target's moves are asked for")
		if number, known := next[one.TID]; known && one.Before == number {
			require.Equal(t, at[one.TID], one.From, "thread %d moved from where it was", one.TID)
		} else {
			require.True(t, !known || hides, "thread %d: no move between is missing", one.TID)
		}
		at[one.TID], next[one.TID] = one.To, one.Before+1
		counted[one.TID]++
		require.GreaterOrEqual(t, one.AtNs, uint64(began))
		require.LessOrEqual(t, one.AtNs, uint64(kernel.Monotonic()))
	}
	for tid := range after {
		bpftest.Told(t, after[tid]-before[tid], counted[tid], hides, "thread %d", tid)
	}

	require.NoError(t, m.SetTargets(other.TIDs[0]))
	thaw(t, spinner)
	flip(t, spinner.Tasks(t), cpus, 8)
	flip(t, other.Tasks(t), cpus, 8)
	moves, _, err = m.Read(nil)
	require.NoError(t, err)
	for _, one := range moves {
		require.Equal(t, other.PID, one.TGID, "the new target alone")
	}
	assert.NotEmpty(t, moves)
}

// What the ring cannot hold is counted to the last one.
func TestMovesCountsWhatIsLost(t *testing.T) {
	hides := hidesTasks(t)
	cpus := twoCPUs(t)
	m := bpftest.Must(t, 5, 8, func() (*Moves, error) { return OpenMoves(4096) })
	defer m.Close()
	spinner := start(t, append([]string{"spin"}, hex("a", "b", "c", "d")...)...)
	before := freeze(t, spinner)
	require.NoError(t, m.SetTargets(spinner.PID))
	thaw(t, spinner)
	flip(t, spinner.Tasks(t), cpus, flips)
	after := freeze(t, spinner)
	moves, lost, err := m.Read(nil)
	require.NoError(t, err)
	var total uint64
	for tid := range after {
		total += after[tid] - before[tid]
	}
	assert.Greater(t, lost, uint64(0), "4096 bytes hold 128 moves")
	bpftest.Told(t, total, uint64(len(moves))+lost, hides, "reported and lost moves")
	whose, err := m.Lost(nil)
	require.NoError(t, err)
	byTask := map[kernel.TID]uint64{}
	for _, c := range whose {
		byTask[c.TID] += uint64(c.Moves)
	}
	for _, one := range moves {
		byTask[one.TID]++
	}
	for tid := range after {
		bpftest.Told(t, after[tid]-before[tid], byTask[tid], hides, "reported and lost moves of thread %d", tid)
	}
	whose, err = m.Lost(nil)
	require.NoError(t, err)
	assert.Empty(t, whose, "told already")
}

func TestMovesTakesSoManyTargets(t *testing.T) {
	m := bpftest.Must(t, 5, 8, func() (*Moves, error) { return OpenMoves(4096) })
	defer m.Close()
	many := make([]kernel.TID, object.MaxTargets+1)
	for i := range many {
		many[i] = kernel.TID(i + 1)
	}
	require.NoError(t, m.SetTargets(many[:object.MaxTargets]...))
	require.NoError(t, m.SetTargets(many[1:]...), "replaced, not added")
	assert.ErrorContains(t, m.SetTargets(many...), "4097 tasks are more than the 4096")
}
