package change_test

import (
	"strings"
	"testing"
	"time"

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
)

// The kernel made something else of a value: that failed, and is in force.
func TestUndoOfWhatDidNotStick(t *testing.T) {
	m, j, tuner := journalled(t)
	const file = "/proc/sys/vm/nr_hugepages"
	m.Settings.Put(file, "0\n")
	m.Settings.Store = func(_, text string) (string, error) {
		if strings.TrimSpace(text) == "4096" {
			text = "2900\n" // there was no more memory
		}
		return text, nil
	}
	outcome := apply(t, tuner, changetest.File(attr.Sysctl, file, "vm.nr_hugepages", attr.Line("4096")))
	require.Equal(t, attr.Failed, outcome.Changes[0].Status)
	assert.Contains(t, outcome.Changes[0].Reason, "the kernel made that of it")
	assert.True(t, outcome.Changed())
	entry := changetest.Entries(t, j)[0]
	assert.True(t, entry.Changes[0].Taken)
	assert.False(t, entry.ChangedNothing())

	outcome = undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"sysctl 2900 to 0: done"}, brief(outcome.Changes))
	assert.Equal(t, []uint64{1}, outcome.Undone)
}

func TestUndoLeavesNoEntryOutBetween(t *testing.T) {
	_, _, tuner := journalled(t, 10)
	for _, cpu := range []cpuset.CPU{1, 2, 3} {
		apply(t, tuner, pinTo(cpu, 10))
	}
	outcome := undo(t, tuner, change.UndoRequest{IDs: []uint64{1, 3}})
	assert.Equal(t, []string{"affinity 2 to 0-3: refused", "affinity 3 to 2: done"}, brief(outcome.Changes))
	assert.Contains(t, outcome.Changes[0].Reason, "entry 2 has changed it from 1 to 2 since; undo that one first")
	assert.Equal(t, []uint64{3}, outcome.Undone)
	assert.Equal(t, change.Some, outcome.Verdict())
	outcome = undo(t, tuner, change.UndoRequest{IDs: []uint64{3, 2, 1}})
	assert.Equal(t, []string{"affinity 2 to 0-3: done"}, brief(outcome.Changes))
	assert.Equal(t, []uint64{2, 1}, outcome.Undone)
}

// What somebody else has set between two entries is what the newer one found.
func TestUndoRestoresWhatSomebodyElseSet(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	require.NoError(t, m.Fake.SetAffinity(10, cpuset.Of(0)))
	apply(t, tuner, pinTo(2, 10))
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 0 to 0-3: refused", "affinity 2 to 0: done"}, brief(outcome.Changes))
	assert.Contains(t, outcome.Changes[0].Reason, "piton left 1, it is 0 now")
	assert.Equal(t, []uint64{2}, outcome.Undone)
	outcome = undo(t, tuner, change.UndoRequest{All: true, Force: true})
	assert.Equal(t, []string{"affinity 0 to 0-3: done"}, brief(outcome.Changes))
}

// A real-time task has no slice that could be compared with the one that was left.
func TestUndoOfASliceBelowAPolicy(t *testing.T) {
	slice := attr.SetSlice(5 * time.Millisecond)
	for name, steps := range map[string][][]attr.Setting{"at once": {{slice, fifo}}, "one by one": {{slice}, {fifo}}} {
		m, _, tuner := journalled(t, 10)
		for _, set := range steps {
			apply(t, tuner, changetest.Set(set, 10))
		}
		outcome := undo(t, tuner, change.UndoRequest{All: true})
		assert.Equal(t, []string{"policy FIFO:10 to OTHER: done", "slice none to default: done"}, brief(outcome.Changes), name)
		assert.Zero(t, m.Task(10).Attr.RuntimeNs, name)
	}
}

// A thread that already had the value has it from itself, and not from its process.
func TestUndoKeepsAThreadsOwnValue(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	m.Write("proc/uptime", "100.00 1.00\n")
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(1)})
	apply(t, tuner, pinTo(1, 10))
	apply(t, tuner, pinTo(2, 10))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
	assert.Equal(t, "1", m.Task(11).Affinity.String())

	apply(t, tuner, pinTo(1, 10)) // the thread is in no entry
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
	assert.Equal(t, "1", m.Task(11).Affinity.String())
}

// sched_getaffinity tells no CPU that is offline, so what was read must not be
// written back to a task that nobody had pinned.
func TestUndoRestoresCPUsThatComeLater(t *testing.T) {
	m, _, tuner := journalled(t)
	m.Write("sys/devices/system/cpu/possible", "0-7\n")
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Cpuset: cpuset.Of(0, 1, 2, 3)})
	m.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1, 2, 3)})
	apply(t, tuner, pinTo(2, 10, 20))
	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"affinity 2 to 0-1: done", "affinity 2 to 0-3: done"}, brief(outcome.Changes))
	assert.Contains(t, m.Calls(), "SetAffinity(10, 0-7)")
	assert.Contains(t, m.Calls(), "SetAffinity(20, 0-1)", "this one was pinned")

	// The same where a mask is restored by itself, and no journal entry is undone.
	for _, restore := range []bool{false, true} {
		apply(t, tuner, pin(change.ScopeThread, cpuset.Of(2), 10))
		back := pin(change.ScopeThread, cpuset.Of(0, 1, 2, 3), 10)
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
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(2, 3), 10))
	m.Write("sys/devices/system/cpu/online", "0-2\n")
	require.NoError(t, m.SetAffinity(10, cpuset.Of(2)))
	p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{Last: 1})
	require.NoError(t, err)
	assert.Equal(t, attr.Planned, p.Changes[0].Status, p.Changes[0].Reason)
}

// A sysctl that clears another cannot be restored by itself.
func TestSysctlsThatClearEachOther(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	m.Settings.Put("/proc/sys/vm/dirty_bytes", "0\n")
	p := plan(t, tuner, changetest.File(attr.Sysctl, "/proc/sys/vm/dirty_bytes", "vm.dirty_bytes", attr.Line("100000000")))
	require.Equal(t, attr.Refused, p.Changes[0].Status)
	assert.Contains(t, p.Changes[0].Reason, "vm.dirty_ratio is in force instead")
	assert.Equal(t, change.NotPermitted, p.Preview().Verdict())
	m.Settings.Put("/proc/sys/vm/dirty_bytes", "5000000\n")
	p = plan(t, tuner, changetest.File(attr.Sysctl, "/proc/sys/vm/dirty_bytes", "vm.dirty_bytes", attr.Line("100000000")))
	assert.Equal(t, attr.Planned, p.Changes[0].Status)
}

// An undo is of the entries that were there when it was planned.
func TestUndoOfWhatWasPlanned(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	apply(t, tuner, pinTo(2, 10))
	p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{Last: 1})
	require.NoError(t, err)
	undo(t, tuner, change.UndoRequest{Last: 1}) // as a guard may do, meanwhile
	outcome, err := tuner.Apply(t.Context(), p, change.Confirmation{})
	require.NoError(t, err)
	assert.Equal(t, change.AllDone, outcome.Verdict())
	assert.Equal(t, "1", m.Task(10).Affinity.String(), "and not of the one before")
}

// TestUndoRestoresNothingUnconfirmed: what was set under a guard and not confirmed does not come
// back without one, neither while the guard waits nor when it has left the value alone.
func TestUndoRestoresNothingUnconfirmed(t *testing.T) {
	batch := attr.SetPolicy(attr.PolicyValue{Policy: kernel.Batch})
	for name, tt := range map[string]struct {
		pids            []kernel.TID
		waits, reverted bool
		want            string
		undone          []uint64
	}{
		"guard waits":        {pids: []kernel.TID{10}, waits: true, want: "OTHER", undone: []uint64{2, 1}},
		"guard of two waits": {pids: []kernel.TID{10, 20}, waits: true, want: "OTHER", undone: []uint64{2}},
		"guard came":         {pids: []kernel.TID{10}, reverted: true, want: "OTHER", undone: []uint64{2, 1}},
		"confirmed":          {pids: []kernel.TID{10}, want: "FIFO:10", undone: []uint64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			m := changetest.New(t)
			m.Spawn(10, 10)
			m.Spawn(20, 20)
			g := &guards{}
			o := change.Options{Journal: changetest.Journal(t), Guards: g}
			tuner := m.Tuner(o)
			_, err := tuner.Apply(t.Context(), plan(t, tuner, changetest.One(fifo, tt.pids...)), change.Confirmation{Yes: true, RevertAfter: time.Second})
			require.NoError(t, err)
			if tt.waits {
				g.others = []history.GuardState{{Entry: 1, Waiting: true}}
			}
			apply(t, tuner, changetest.One(batch, 10))
			if tt.reverted {
				p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{IDs: []uint64{1}})
				require.NoError(t, err)
				p.Origin.Kind, p.Undo.IDs = journal.ByGuard, nil
				assert.Equal(t, []uint64(nil), applyPlan(t, tuner, p).Undone)
			}
			outcome := undo(t, tuner, change.UndoRequest{Last: 1})
			assert.Equal(t, []string{"policy BATCH to " + tt.want + ": done"}, brief(outcome.Changes))
			text := strings.Join(change.Texts(outcome.Warnings), "\n")
			assert.Equal(t, tt.undone, outcome.Undone)
			if tt.want == "OTHER" {
				assert.Contains(t, text, "entry 1 was made under a guard and not confirmed")
			} else {
				assert.Empty(t, text)
			}
		})
	}
}
