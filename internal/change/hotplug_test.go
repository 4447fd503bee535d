package change_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

var without3, withAll = cpuset.Of(0, 1, 2), cpuset.Of(0, 1, 2, 3)

// states are those of the journal's operations, oldest first.
func states(t *testing.T, j *journal.Journal, tuner *change.Tuner) (out []string) {
	t.Helper()
	operations := history.Operations(changetest.Entries(t, j), nil)
	found := change.Check(t.Context(), tuner, operations)
	for i := range operations {
		operations[i].Found = found[operations[i].ID]
		out = append(out, operations[i].State())
	}
	return out
}

// reasons are those of the changes of an outcome.
func reasons(o change.Outcome) (out []string) {
	for _, c := range o.Changes {
		out = append(out, string(c.Status)+": "+c.Why())
	}
	return out
}

// threads are the threads with the affinity that they have.
func threads(m *changetest.Machine, tids ...kernel.TID) (out []change.Change) {
	for _, tid := range tids {
		out = append(out, change.Change{Object: attr.Object{PID: tid / 10 * 10, TID: tid, StartTicks: 1000 + uint64(tid)}, Attribute: attr.Affinity, After: m.Task(tid).Affinity})
	}
	return out
}

func TestPinThatACPUTookAway(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	m.Tasks[10].State = 'R'
	apply(t, tuner, pinTo(3, 10))
	m.SetOnline(without3)
	require.Equal(t, "0-3", m.Task(10).Affinity.String())
	assert.Equal(t, []string{"no longer in force (CPU 3 went offline)"}, states(t, j, tuner))
	assert.Equal(t, "pin to CPU 3 no longer in force (entry 1): CPU 3 went offline", tuner.LapsedPin(threads(m, 10)))

	m.SetOnline(withAll) // nothing tells it from somebody's hand any more
	assert.Equal(t, []string{"no longer in force"}, states(t, j, tuner))
	const either = "all CPUs were set by someone else, or by the kernel when a CPU went offline"
	assert.Equal(t, "pin to CPU 3 no longer in force (entry 1): "+either, tuner.LapsedPin(threads(m, 10)))
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"unchanged: no longer in force: " + either}, reasons(outcome))
	assert.Equal(t, []uint64{1}, outcome.Undone)
	assert.Empty(t, tuner.LapsedPin(threads(m, 10)), "an undo is no pin")
}

func TestPinOfASleeperOutlastsItsCPU(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(3, 10))
	m.SetOnline(without3)
	assert.Equal(t, []string{"in force"}, states(t, j, tuner))
	m.SetOnline(withAll)
	assert.Equal(t, []string{"in force"}, states(t, j, tuner))
	m.SetOnline(without3)
	assert.Equal(t, change.AllDone, undo(t, tuner, change.UndoRequest{All: true}).Verdict())
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
}

// An undo restores what was there before a pin that a CPU took away, as nobody else has set it.
func TestUndoOfAPinThatACPUTookAway(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	m.Tasks[10].State = 'R'
	apply(t, tuner, pinTo(2, 10))
	apply(t, tuner, pinTo(3, 10))
	m.SetOnline(without3)
	assert.Equal(t, []string{"changed again by entry 2", "no longer in force (CPU 3 went offline)"}, states(t, j, tuner))
	outcome := undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, []string{"refused: entry 2 has changed it from 2 to 3 since; undo that one first, or force this"}, reasons(outcome))
	assert.Equal(t, []string{"affinity 0-3 to 2: done"}, changetest.Brief(undo(t, tuner, change.UndoRequest{Last: 1}).Changes))
	assert.Equal(t, []string{"in force", "undone " + changetest.Entries(t, j)[3].Time.Local().Format("15:04:05")}, states(t, j, tuner))

	apply(t, tuner, pinTo(1, 10))
	m.SetOnline(cpuset.Of(0, 2))
	m.SetOnline(withAll)
	outcome = undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"refused: changed since by someone else, or by the kernel when a CPU went offline: piton left 1, it is 0-3 now; left alone without --force"}, reasons(outcome))
}

func TestAnotherPinIsNotTheKernels(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(3, 10))
	m.SetOnline(without3)
	m.Tasks[10].Affinity = cpuset.Of(0, 1)
	assert.Equal(t, []string{"changed by someone else"}, states(t, j, tuner))
	assert.Empty(t, tuner.LapsedPin(threads(m, 10)))
}

// A guard reverts what it guards though the CPU is offline: what the task keeps while it sleeps,
// and what the kernel has made of the pin of one that runs.
func TestGuardedPinAndItsCPU(t *testing.T) {
	m, j, tuner := journalled(t, 10, 20)
	apply(t, tuner, pinTo(2, 10, 20))
	apply(t, tuner, pinTo(3, 10, 20))
	m.Tasks[20].State = 'R'
	m.SetOnline(without3)
	_, outcome, err := tuner.Revert(t.Context(), changetest.Entries(t, j)[1], map[attr.Key]bool{}, func() bool { return false })
	require.NoError(t, err)
	assert.Equal(t, change.AllDone, outcome.Verdict())
	for _, tid := range []kernel.TID{10, 20} {
		assert.Equal(t, "2", m.Task(tid).Affinity.String())
	}
}

// What a task had is recorded with the CPUs that are offline at the moment.
func TestOldMaskHasOfflineCPUs(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	m.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(2, 3)})
	m.SetOnline(without3)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 2-3 to 1: done"}, changetest.Brief(apply(t, tuner, pinTo(1, 10, 20)).Changes))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "2-3", m.Task(20).Affinity.String())
}

// The kernel has taken an offline CPU out of the mask of a thread of its own, and gives it back
// unless somebody has set a mask without it (Linux 6.2).
func TestKernelThreadGetsTheOfflineCPUBack(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	m.SpawnAs(2, 2, kernelfake.Task{Affinity: withAll})
	m.SpawnAs(20, 20, kernelfake.Task{Affinity: without3})
	m.SpawnAs(30, 30, kernelfake.Task{Affinity: without3})
	m.SpawnAs(40, 40, kernelfake.Task{Affinity: cpuset.Of(0, 1)})
	for _, tid := range []kernel.TID{2, 30, 40} {
		m.Tasks[tid].Flags |= procfs.FlagKernelThread
	}
	has := func() (out []string) {
		for _, tid := range []kernel.TID{2, 20, 30, 40} {
			out = append(out, m.Task(tid).Affinity.String())
		}
		return out
	}
	whole := []string{"0-3", "0-2", "0-3", "0-1"} // somebody has set 20's and 40's
	m.SetOnline(without3)
	assert.Equal(t, "affinity 0-2 to 1: done", changetest.Brief(apply(t, tuner, pinTo(1, 2, 20, 30, 40)).Changes)[2])
	_, _, err := tuner.Revert(t.Context(), changetest.Entries(t, j)[0], map[attr.Key]bool{}, func() bool { return false })
	require.NoError(t, err)
	assert.Equal(t, whole, has(), "by the guard, while it is offline")

	m.Tasks[30].Affinity = without3
	apply(t, tuner, pinTo(1, 2, 20, 30, 40))
	m.SetOnline(withAll)
	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, change.AllDone, outcome.Verdict())
	assert.Equal(t, whole, has(), "once it is back")

	m.Tasks[2].Affinity = without3
	m.Tasks[30].Affinity = without3
	m.SetOnline(without3)
	apply(t, tuner, pinTo(1, 30))
	m.SetOnline(withAll)
	undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"0-2", "0-2", "0-2", "0-1"}, has(), "kthreadd has not been given it: it is isolated")
}

// RCU has a thread for 16 CPUs each.
func TestKernelThreadOfSomeCPUsGetsTheOfflineOneBack(t *testing.T) {
	m, _, tuner := journalled(t)
	set := func(list string) cpuset.Set {
		s, err := cpuset.Parse(list)
		require.NoError(t, err)
		return s
	}
	m.Write("sys/devices/system/cpu/possible", "0-39")
	m.SetOnline(set("0-14,16-39"))
	for tid, mask := range map[kernel.TID]string{2: "0-39", 30: "0-14", 40: "16-31", 50: "1-14"} {
		m.SpawnAs(tid, tid, kernelfake.Task{Affinity: set(mask)})
		m.Tasks[tid].Flags |= procfs.FlagKernelThread
	}
	apply(t, tuner, pinTo(1, 30, 40, 50))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-15", "16-31", "1-14"}, []string{m.Task(30).Affinity.String(), m.Task(40).Affinity.String(), m.Task(50).Affinity.String()})
}

func TestSeveralPinsThatWentOffline(t *testing.T) {
	m, j, tuner := journalled(t, 10, 11, 12)
	m.Tasks[11].State, m.Tasks[12].State = 'R', 'R'
	spread := append(append(pin(change.ScopeThread, cpuset.Of(1), 10), pin(change.ScopeThread, cpuset.Of(2), 11)...), pin(change.ScopeThread, cpuset.Of(3), 12)...)
	apply(t, tuner, spread)
	m.SetOnline(cpuset.Of(0, 1))
	assert.Equal(t, []string{"1 of 3 in force"}, states(t, j, tuner))
	assert.Equal(t, "pin of 2 threads to CPU 2 no longer in force (entry 1): CPU 2 went offline", tuner.LapsedPin(threads(m, 10, 11, 12)))
	m.Kill(10)
	m.Spawn(10, 10)
	m.Tasks[10].State = 'R'
	assert.Equal(t, []string{"no longer in force (CPUs 2-3 went offline)"}, states(t, j, tuner))
}

// TestUndoGivesCPUsThatWereAddedMeanwhile: the CPUs that a virtual machine may be given later are in
// the mask of every task that nobody has pinned.
func TestUndoGivesCPUsThatWereAddedMeanwhile(t *testing.T) {
	m, _, tuner := journalled(t)
	m.Write("sys/devices/system/cpu/possible", "0-7\n")
	m.Write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-7\n")
	whole := cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7)
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: whole})
	outcome := apply(t, tuner, pinTo(2, 10))
	assert.Equal(t, []string{"affinity 0-7 to 2: done"}, brief(outcome.Changes))
	m.Write("sys/devices/system/cpu/present", "0-4\n")
	m.SetOnline(cpuset.Of(0, 1, 2, 3, 4))
	undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, whole.String(), m.Task(10).Affinity.String())
}
