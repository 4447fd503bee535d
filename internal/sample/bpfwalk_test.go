package sample

import (
	"encoding/hex"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// exactSampler reads this machine by eBPF, or skips.
func exactSampler(tb testing.TB, n Needs) *Sampler {
	tb.Helper()
	w, err := bpf.OpenWalk(bpf.WalkOptions{})
	if err != nil {
		tb.Skip(err)
	}
	w.Close()
	s, err := New(Options{Needs: n, EBPF: EBPFNow})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// oddNames break those who parse /proc carelessly.
var oddNames = []string{") R 1 (", "a b\tc", "line\nfeed", "\x1b[31mred", "\xff\xfe\x01", "fifteen bytes!!", " ", "()"}

// startMixed starts n tasks and some of every kind, and returns the latter.
func startMixed(t *testing.T, n int) []kernel.TID {
	startIdle(t, n/2)
	names := []string{"sleep"}
	for i := range n / 2 {
		names = append(names, hex.EncodeToString(fmt.Appendf(nil, "n%d", i)))
	}
	start(t, names...)
	odd := []string{"sleep"}
	for _, name := range oddNames {
		odd = append(odd, hex.EncodeToString([]byte(name)))
	}
	oddly := start(t, odd...)
	tasks := oddly.Tasks(t)
	require.NoError(t, tasks[0].SetNice(7))
	require.NoError(t, tasks[1].SetPolicy(kernel.Batch, 0, false))
	require.NoError(t, tasks[2].SetPolicy(kernel.Idle, 0, false))
	online, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	require.NoError(t, tasks[3].SetAffinity(cpuset.Of(online.Last())))
	if err := tasks[4].SetPolicy(kernel.FIFO, 7, false); err != nil {
		t.Logf("no FIFO task among the children: %v", err)
	}
	stopped := start(t, "sleep", "73").PID
	require.NoError(t, syscall.Kill(int(stopped), syscall.SIGSTOP))
	zombie := start(t, "end").PID // it has ended, and is not waited for yet
	return append(oddly.TIDs, oddly.PID, stopped, zombie)
}

// collected keeps the failures of one comparison.
type collected []string

func (c *collected) Errorf(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// Every figure of the walk inside the kernel is the one of /proc, for every
// task that did not change between two readings of /proc around it. A task of
// somebody else may change between those and change back (a test of another
// package sets and undoes a nice value): it must differ three times running.
func TestBothWalksTellTheSame(t *testing.T) {
	needs := Needs{Threads: true, Affinity: true, Switches: true, Migrations: true, Delay: true, Identity: true, All: true}
	exact, plain := exactSampler(t, needs), liveSampler(t, needs)
	own := startMixed(t, 2000)
	missing := slices.Clone(own)
	compared, resting := 0, 0
	differed := map[kernel.TID]int{} // how many times running
	for end := time.Now().Add(time.Minute); len(missing)+len(differed) > 0 && time.Now().Before(end); {
		last := differed
		differed = map[kernel.TID]int{}
		before, err := plain.Read()
		require.NoError(t, err)
		n, err := exact.Read()
		require.NoError(t, err)
		after, err := plain.Read()
		require.NoError(t, err)
		for i := range n.Tasks {
			a, b := find(before, n.Tasks[i].TID), find(after, n.Tasks[i].TID)
			if a == nil || b == nil || a.StartTicks != b.StartTicks {
				continue
			}
			compared++
			if rested(a, b) {
				resting++
				var failures collected
				sameTask(&failures, b, n.Tasks[i])
				if len(failures) > 0 {
					differed[b.TID] = last[b.TID] + 1
				}
				if differed[b.TID] == 3 || len(failures) > 0 && slices.Contains(own, b.TID) {
					t.Error(failures)
				}
				missing = slices.DeleteFunc(missing, func(tid kernel.TID) bool { return tid == b.TID })
			}
		}
		for i := range after.Tasks {
			first := find(before, after.Tasks[i].TID)
			there := first != nil && first.StartTicks == after.Tasks[i].StartTicks && find(n, after.Tasks[i].TID) == nil
			assert.False(t, there, "task %d was there all the time, and not in the walk", after.Tasks[i].TID)
		}
		if t.Failed() {
			return
		}
	}
	assert.Empty(t, missing, "children that were never seen at rest")
	assert.Greater(t, compared, 2000)
	assert.Greater(t, resting, compared/2, "most rest, even where others are busy")
	t.Logf("%d of %d tasks rested and are equal", resting, compared)
}

// rested tells whether nothing of a task changed from one reading to the next.
func rested(a, b *Task) bool {
	x, y := *a, *b
	x.Group, y.Group = nil, nil // read by details, whoever walks
	x.ID, y.ID, x.Affinity, y.Affinity = nil, nil, cpuset.Set{}, cpuset.Set{}
	return fmt.Sprint(x) == fmt.Sprint(y) && a.Affinity.Equal(b.Affinity) && a.ID.Comm == b.ID.Comm
}

func sameTask(t assert.TestingT, want, got *Task) {
	w, g := *want, *got
	if got.MigrationSource != SourceBPF {
		return // hidden from eBPF programs: /proc told of it too
	}
	assert.Equal(t, HaveTime|HaveRun|HaveSwitches|HaveMigrations|HaveAffinity, g.Have&(HaveTime|HaveRun|HaveSwitches|HaveMigrations|HaveAffinity), "task %d", g.TID)
	assert.True(t, w.Affinity.Equal(g.Affinity), "task %d: allowed %s, by eBPF %s", w.TID, w.Affinity, g.Affinity)
	id, exactID := *shown(w.ID), *shown(g.ID)
	if !w.MigrationSource.Exact() || w.Threads > 1 && w.IsProcess() {
		g.Migrations = w.Migrations // /proc has those of a process since piton watches it
	}
	if w.IsProcess() || !w.MigrationSource.Exact() {
		// /proc has no switches of threads that have ended.
		assert.GreaterOrEqual(t, g.VoluntarySwitches, w.VoluntarySwitches, "task %d", w.TID)
		assert.GreaterOrEqual(t, g.InvoluntarySwitches, w.InvoluntarySwitches, "task %d", w.TID)
		g.VoluntarySwitches, g.InvoluntarySwitches = w.VoluntarySwitches, w.InvoluntarySwitches
	}
	// How /proc divides the time depends on when it was looked at before.
	assert.InDelta(t, w.UserTicks+w.SystemTicks, g.UserTicks+g.SystemTicks, 1, "task %d: ticks", w.TID)
	g.UserTicks, g.SystemTicks = w.UserTicks, w.SystemTicks
	if w.Have&HaveTime == 0 {
		g.RunNs = w.RunNs
	}
	if id.UID != exactID.UID && w.ID.UID == 0 {
		exactID.UID, exactID.User = id.UID, id.User // /proc shows undumpable tasks as root's
	}
	g.ID, w.ID, g.Affinity, w.Affinity = nil, nil, cpuset.Set{}, cpuset.Set{}
	g.Have, g.MigrationSource, g.Pressure, g.living, g.summed = w.Have, w.MigrationSource, w.Pressure, w.living, w.summed
	g.PingPongs, g.ResetOnFork, g.Group = w.PingPongs, w.ResetOnFork, w.Group
	assert.Equal(t, w, g)
	assert.Equal(t, id, exactID, "task %d", w.TID)
}

// A sampler that goes from /proc to eBPF takes the identities along.
func TestRowsCarryOver(t *testing.T) {
	exactSampler(t, Needs{})
	pid := start(t, "sleep", "73").PID
	s := liveSampler(t, Needs{Watch: []kernel.TID{pid}})
	_, err := s.Read()
	require.NoError(t, err)
	before, err := s.Read()
	require.NoError(t, err)
	s.ebpf = EBPFNow
	after, err := s.Read()
	require.NoError(t, err)
	require.Equal(t, SourceBPF, find(after, pid).MigrationSource)
	assert.Same(t, find(before, pid).ID, find(after, pid).ID)
	assert.Equal(t, find(before, pid).StartTicks, find(after, pid).StartTicks)
	assert.GreaterOrEqual(t, find(after, pid).RunNs, find(before, pid).RunNs)
}

// What the kernel's walk does not show is read from /proc as long as it lives.
func TestHiddenTasks(t *testing.T) {
	s := exactSampler(t, Needs{Threads: true})
	sleeper := start(t, "sleep", "73", "74")
	pid := sleeper.PID
	b := newBPFWalk(nil, s.fs, s.r)
	w := &walk{needs: newWanted(Needs{Threads: true})}
	// No records at all: every process is hidden.
	rows := b.walkHidden(w, []kernel.TID{pid})
	for _, tid := range append(sleeper.TIDs, pid) {
		assert.True(t, slices.ContainsFunc(rows, func(t *Task) bool { return t.TID == tid }))
	}
	b.convert(w, &bpf.WalkStats{}, rows)
	assert.Len(t, w.partial, len(w.tasks))
	sleeper.End()
	require.Eventually(t, func() bool {
		_ = syscall.Kill(int(pid), 0)
		return stateOf(t, s, pid) == 'Z'
	}, time.Minute, 10*time.Millisecond)
	assert.NotEmpty(t, b.walkHidden(w, nil), "a zombie is still there")
}

func stateOf(t *testing.T, s *Sampler, tid kernel.TID) byte {
	n, err := s.Read()
	require.NoError(t, err)
	if task := find(n, tid); task != nil {
		return task.State
	}
	return 0
}
