package tune

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func undo(t *testing.T, tuner *Tuner, q UndoRequest) Result {
	t.Helper()
	result, err := tuner.Undo(context.Background(), q)
	require.NoError(t, err)
	return result
}

func TestUndoRoundTrip(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawnAs(10, 11, kerneltest.Task{Affinity: cpuset.Of(2), Attr: kernel.SchedAttr{Nice: 3}})
	was := []kerneltest.Task{m.Task(10), m.Task(11)}
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	nice, cpus := -5, cpuset.Of(1)
	apply(t, tuner, []Request{{Targets: []Target{{TID: 10}}, Settings: Settings{
		Affinity: &cpus, Nice: &nice, Policy: &PolicySetting{Policy: kernel.RR, RTPrio: 5, ResetOnFork: true},
		IOPrio: &kernel.IOPrio{Class: kernel.IOBestEffort, Level: 1},
	}}})
	require.NotEqual(t, was[0], m.Task(10))

	result := undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, 8, result.Count(Done))
	assert.Equal(t, was, []kerneltest.Task{m.Task(10), m.Task(11)})
	entries := entriesOf(t, j)
	require.Len(t, entries, 2)
	assert.True(t, entries[0].Undone)
	assert.Equal(t, []uint64{1}, entries[1].Undoes)

	_, err := tuner.Undo(context.Background(), UndoRequest{Last: 1})
	require.ErrorIs(t, err, ErrNothingToUndo, "an undo is no change to undo")
	again := undo(t, tuner, UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, []string{"entry 1 was already undone"}, again.Warnings)
	assert.Empty(t, again.Changes)
}

func TestUndoReplaysBackwards(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	for _, cpu := range []cpuset.CPU{1, 2, 3} {
		apply(t, tuner, pin(ScopeProcess, cpuset.Of(cpu), 10))
	}
	result := undo(t, tuner, UndoRequest{Last: 2})
	assert.Equal(t, []string{"affinity 3 to 1: done"}, outcome(result.Changes))
	result = undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done"}, outcome(result.Changes))
}

func TestUndoLeavesOthersChangesAlone(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, m.SetAffinity(10, cpuset.Of(3)))

	result := undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, Refused, result.Changes[0].Status)
	assert.Equal(t, "somebody else has changed it since: piton left 1 and it is 3 now; left alone unless forced", result.Changes[0].Reason)
	assert.Equal(t, "3", m.Task(10).Affinity.String())
	assert.False(t, entriesOf(t, j)[0].Undone)

	result = undo(t, tuner, UndoRequest{Last: 1, Force: true})
	assert.Equal(t, []string{"affinity 3 to 0-3: done"}, outcome(result.Changes))
	assert.True(t, entriesOf(t, j)[0].Undone)
}

func TestUndoOfAnOlderEntryNamesTheNewer(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2), 10))
	result := undo(t, tuner, UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, "entry 2 has changed it from 1 to 2 since; undo that one first, or force this", result.Changes[0].Reason)

	// Also when the value happens to be the one that the older entry left.
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	result = undo(t, tuner, UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, "entry 4 has changed it from 2 to 1 since; undo that one first, or force this", result.Changes[0].Reason)
}

// TestUndoAfterOneThatLeftSomethingAlone: what came back of the newer entry is in
// nobody's way.
func TestUndoAfterOneThatLeftSomethingAlone(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(20, 20)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10, 20))
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2), 10, 20))
	require.NoError(t, m.SetAffinity(20, cpuset.Of(3)))
	result := undo(t, tuner, UndoRequest{IDs: []uint64{2}})
	assert.ElementsMatch(t, []string{"affinity 2 to 1: done", "affinity 3 to 1: refused"}, outcome(result.Changes))
	assert.Empty(t, result.Undone)
	result = undo(t, tuner, UndoRequest{IDs: []uint64{1}})
	assert.ElementsMatch(t, []string{"affinity 1 to 0-3: done", "affinity 3 to 0-3: refused"}, outcome(result.Changes))
	require.NoError(t, m.SetAffinity(20, cpuset.Of(2)))
	assert.Equal(t, []uint64{2, 1}, undo(t, tuner, UndoRequest{IDs: []uint64{1, 2}}).Undone)
}

func TestUndoLooksAgainBeforeItActs(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	plan, err := tuner.PlanUndo(context.Background(), UndoRequest{Last: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"affinity 1 to 0-3: planned"}, outcome(plan.Changes))
	require.NoError(t, m.SetAffinity(10, cpuset.Of(3))) // while the user thinks
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, []string{"affinity 1 to 0-3: refused"}, outcome(result.Changes))
	assert.Equal(t, "3", m.Task(10).Affinity.String())
}

func TestUndoSaysWhatIsGone(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(20, 20)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10, 20))
	m.end(10)
	m.end(20)
	m.spawn(20, 20)
	m.tasks[20].StartTicks = 77777 // another process with the number
	calls := len(m.Calls())
	result := undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, 2, result.Count(Unchanged))
	assert.Equal(t, "20 has ended, so there is nothing to undo", result.Changes[0].Reason)
	assert.Len(t, m.Calls(), calls)
	assert.True(t, entriesOf(t, j)[0].Undone)
}

func TestUndoReachesThreadsBornSince(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	m.spawnAs(10, 11, kerneltest.Task{Affinity: cpuset.Of(1)}) // inherited what piton set
	m.spawnAs(10, 12, kerneltest.Task{Affinity: cpuset.Of(2)}) // set itself
	result := undo(t, tuner, UndoRequest{Last: 1})
	assert.Equal(t, 2, result.Count(Done))
	assert.Equal(t, "0-3", m.Task(11).Affinity.String())
	assert.Equal(t, "2", m.Task(12).Affinity.String())
}

// A thread born between two entries is in the newer one only; what it had before
// that one, it had from the older.
func TestUndoOfSeveralReachesThreadsBornBetween(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{Journal: openJournal(t)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	m.spawnAs(10, 11, kerneltest.Task{Affinity: cpuset.Of(1)})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2), 10))
	undo(t, tuner, UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(11).Affinity.String())
}

func TestUndoAfterACrashInTheMiddle(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(20, 20)
	j := openJournal(t)
	_, err := j.append(record{Kind: kindBegin, Boot: j.boot, Changes: []jchange{
		{PID: 10, TID: 10, StartTicks: 1010, Attribute: Affinity, Before: "0-3", After: "1"},
		{PID: 20, TID: 20, StartTicks: 1020, Attribute: Affinity, Before: "0-3", After: "1"},
	}}, true)
	require.NoError(t, err)
	require.NoError(t, m.SetAffinity(10, cpuset.Of(1))) // piton came this far
	assert.False(t, entriesOf(t, j)[0].Finished)

	result := undo(t, m.tuner(Options{Journal: j}), UndoRequest{Last: 1})
	assert.Equal(t, []string{"affinity 0-3 to 0-3: unchanged", "affinity 1 to 0-3: done"}, outcome(result.Changes))
	assert.True(t, entriesOf(t, j)[0].Undone)
}

func TestUndoWrongChoices(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	_, err := tuner.Undo(context.Background(), UndoRequest{All: true})
	require.ErrorIs(t, err, ErrNothingToUndo)
	_, err = m.tuner(Options{}).Undo(context.Background(), UndoRequest{All: true})
	require.ErrorIs(t, err, ErrNoJournal)

	_, err = j.append(record{Kind: kindBegin, Boot: "an earlier one", Changes: []jchange{{TID: 10, Attribute: Nice}}}, false)
	require.NoError(t, err)
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	undo(t, tuner, UndoRequest{Last: 1})
	for name, q := range map[string]UndoRequest{
		"no choice":        {},
		"negative":         {Last: -1},
		"no such entry":    {IDs: []uint64{99}},
		"an undo":          {IDs: []uint64{3}},
		"before this boot": {IDs: []uint64{1}},
	} {
		_, err := tuner.Undo(context.Background(), q)
		var usage UsageError
		require.ErrorAs(t, err, &usage, name)
	}
}
