package tune

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// The kernel made something else of a value: that failed, and is in force.
func TestUndoTakesBackWhatDidNotStick(t *testing.T) {
	m := newMachine(t)
	const file = "/proc/sys/vm/nr_hugepages"
	m.files.Put(file, "0\n")
	m.files.Store = func(_, text string) (string, error) {
		if strings.TrimSpace(text) == "4096" {
			text = "2900\n" // there was no more memory
		}
		return text, nil
	}
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	result := apply(t, tuner, []Request{{Files: []FileSetting{{Sysctl, file, "vm.nr_hugepages", "4096"}}}})
	require.Equal(t, Failed, result.Changes[0].Status)
	assert.Contains(t, result.Changes[0].Reason, "the kernel made that of it")
	assert.True(t, result.Changed())
	entry := entriesOf(t, j)[0]
	assert.True(t, entry.Changes[0].Taken)
	assert.False(t, entry.ChangedNothing())

	result = undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, []string{"sysctl 2900 to 0: done"}, outcome(result.Changes))
	assert.Equal(t, []uint64{1}, result.Undone)
}

func TestUndoLeavesNoEntryOutBetween(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	for _, cpu := range []cpuset.CPU{1, 2, 3} {
		apply(t, tuner, pin(ScopeProcess, cpuset.Of(cpu), 10))
	}
	result := undo(t, tuner, UndoRequest{IDs: []uint64{1, 3}})
	assert.Equal(t, []string{"affinity 3 to 0-3: refused"}, outcome(result.Changes))
	assert.Contains(t, result.Changes[0].Reason, "entry 2 has changed it from 1 to 2 since; undo that one first")
	assert.Empty(t, result.Undone)
	result = undo(t, tuner, UndoRequest{IDs: []uint64{3, 2, 1}})
	assert.Equal(t, []string{"affinity 3 to 0-3: done"}, outcome(result.Changes))
}

// A real-time task has no slice that could be compared with the one that was left.
func TestUndoOfASliceBelowAPolicy(t *testing.T) {
	for _, at := range []string{"once", "one by one"} {
		t.Run(at, func(t *testing.T) {
			m := newMachine(t)
			m.spawn(10, 10)
			tuner := m.tuner(Options{Journal: openJournal(t)})
			slice, fifo := 5*time.Millisecond, &PolicySetting{Policy: kernel.FIFO, RTPrio: 10}
			targets := []Target{{TID: 10}}
			if at == "once" {
				apply(t, tuner, []Request{{Targets: targets, Settings: Settings{Slice: &slice, Policy: fifo}}})
			} else {
				apply(t, tuner, []Request{{Targets: targets, Settings: Settings{Slice: &slice}}})
				apply(t, tuner, []Request{{Targets: targets, Settings: Settings{Policy: fifo}}})
			}
			result := undo(t, tuner, UndoRequest{All: true})
			assert.Equal(t, []string{"policy FIFO:10 to OTHER: done", "slice none to default: done"}, outcome(result.Changes))
			assert.Zero(t, m.Task(10).Attr.RuntimeNs)
		})
	}
}

// A thread that already had the value has it from itself, and not from its process.
func TestUndoKeepsAThreadsOwnValue(t *testing.T) {
	m := newMachine(t)
	m.write("proc/uptime", "100.00 1.00\n")
	m.spawn(10, 10)
	m.spawnAs(10, 11, kerneltest.Task{Affinity: cpuset.Of(0, 1)})
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(0, 1), 10))
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2), 10))
	undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
	assert.Equal(t, "0-1", m.Task(11).Affinity.String())
}

// sched_getaffinity tells no CPU that is offline, so what was read must not be
// written back to a task that nobody had pinned.
func TestUndoGivesBackCPUsThatComeLater(t *testing.T) {
	m := newMachine(t)
	m.write("sys/devices/system/cpu/possible", "0-7\n")
	m.spawnAs(10, 10, kerneltest.Task{Affinity: cpuset.Of(0, 1, 2, 3), Cpuset: cpuset.Of(0, 1, 2, 3)})
	m.spawnAs(20, 20, kerneltest.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1, 2, 3)})
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2), 10, 20))
	result := undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, []string{"affinity 2 to 0-1: done", "affinity 2 to 0-3: done"}, outcome(result.Changes))
	assert.Contains(t, m.Calls(), "SetAffinity(10, 0-7)")
	assert.Contains(t, m.Calls(), "SetAffinity(20, 0-1)", "this one was pinned")

	// The same where a mask is given back by itself, and no journal entry is undone.
	for _, restore := range []bool{false, true} {
		apply(t, tuner, pin(ScopeThread, cpuset.Of(2), 10))
		back := pin(ScopeThread, cpuset.Of(0, 1, 2, 3), 10)
		back[0].Restore = restore
		before := len(m.Calls())
		apply(t, tuner, back)
		want := "SetAffinity(10, 0-3)"
		if restore {
			want = "SetAffinity(10, 0-7)"
		}
		assert.Contains(t, m.Calls()[before:], want)
	}

	// A CPU goes offline after a pin: nobody changed that.
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2, 3), 10))
	m.write("sys/devices/system/cpu/online", "0-2\n")
	require.NoError(t, m.SetAffinity(10, cpuset.Of(2)))
	plan, err := tuner.PlanUndo(context.Background(), UndoRequest{Last: 1})
	require.NoError(t, err)
	assert.Equal(t, Planned, plan.Changes[0].Status, plan.Changes[0].Reason)
}
