package change_test

import (
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

// journalled is a machine with a thread for each number, process 10's up to 19, and so
// on, and a Tuner with a journal.
func journalled(t *testing.T, tids ...kernel.TID) (*changetest.Machine, *journal.Journal, *change.Tuner) {
	m := changetest.New(t)
	for _, tid := range tids {
		m.Spawn(tid/10*10, tid)
	}
	j := changetest.Journal(t)
	return m, j, m.Tuner(change.Options{Journal: j})
}

// pinTo pins processes.
func pinTo(cpu cpuset.CPU, pids ...kernel.TID) []change.Request {
	return pin(change.ScopeProcess, cpuset.Of(cpu), pids...)
}

func TestUndoRoundTrip(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(2), Attr: kernel.SchedAttr{Nice: 3}})
	was := []kernelfake.Task{m.Task(10), m.Task(11)}
	apply(t, tuner, changetest.Set([]attr.Setting{
		attr.SetAffinity(cpuset.Of(1)), attr.SetNice(-5), attr.SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 1}),
		attr.SetPolicy(attr.PolicyValue{Policy: kernel.RR, RTPrio: 5, ResetOnFork: true}),
	}, 10))
	require.NotEqual(t, was[0], m.Task(10))

	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, 8, outcome.Count(attr.Done))
	assert.Equal(t, was, []kernelfake.Task{m.Task(10), m.Task(11)})
	entries := changetest.Entries(t, j)
	require.Len(t, entries, 2)
	assert.True(t, entries[0].Undone)
	assert.Equal(t, []uint64{1}, entries[1].Undoes)

	_, err := tuner.Undo(t.Context(), change.UndoRequest{Last: 1})
	require.ErrorIs(t, err, change.ErrNothingToUndo, "an undo is no change to undo")
	again := undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, []string{"entry 1 was already undone"}, change.Texts(again.Warnings))
	assert.Empty(t, again.Changes)
}

func TestUndoReplaysBackwards(t *testing.T) {
	_, _, tuner := journalled(t, 10)
	for _, cpu := range []cpuset.CPU{1, 2, 3} {
		apply(t, tuner, pinTo(cpu, 10))
	}
	outcome := undo(t, tuner, change.UndoRequest{Last: 2})
	assert.Equal(t, []string{"affinity 3 to 1: done"}, brief(outcome.Changes))
	outcome = undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done"}, brief(outcome.Changes))
}

func TestUndoOfTasksAndFilesAtOnce(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	requests := pinTo(1, 10)
	requests[0].Files = []attr.FileSetting{attr.SetIRQ(24, "irq 24", cpuset.Of(1))}
	m.Line("24", "eth0", "0-3")
	p := plan(t, tuner, requests)
	assert.Equal(t, []int{1, 1, 1}, []int{p.Processes(), p.Threads(), p.Files()})
	assert.Equal(t, 2, applyPlan(t, tuner, p).Count(attr.Done))
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done", "irq-affinity 1 to 0-3: done"}, brief(outcome.Changes))
	assert.True(t, changetest.Entries(t, j)[0].Undone)
}

func TestUndoLeavesOthersChangesAlone(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	require.NoError(t, m.SetAffinity(10, cpuset.Of(3)))

	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, attr.Refused, outcome.Changes[0].Status)
	assert.Equal(t, "changed by someone else since: piton left 1, it is 3 now; left alone without --force", outcome.Changes[0].Reason)
	assert.Equal(t, "3", m.Task(10).Affinity.String())
	assert.False(t, changetest.Entries(t, j)[0].Undone)

	outcome = undo(t, tuner, change.UndoRequest{Last: 1, Force: true})
	assert.Equal(t, []string{"affinity 3 to 0-3: done"}, brief(outcome.Changes))
	assert.True(t, changetest.Entries(t, j)[0].Undone)
}

func TestUndoOfAnOlderEntryNamesTheNewer(t *testing.T) {
	_, _, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	apply(t, tuner, pinTo(2, 10))
	outcome := undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, "entry 2 has changed it from 1 to 2 since; undo that one first, or force this", outcome.Changes[0].Reason)

	// Also when the value happens to be the one that the older entry left.
	apply(t, tuner, pinTo(1, 10))
	outcome = undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, "entry 4 has changed it from 2 to 1 since; undo that one first, or force this", outcome.Changes[0].Reason)
}

// TestUndoAfterOneThatLeftSomethingAlone: what was restored of the newer entry is in
// nobody's way.
func TestUndoAfterOneThatLeftSomethingAlone(t *testing.T) {
	m, _, tuner := journalled(t, 10, 20)
	apply(t, tuner, pinTo(1, 10, 20))
	apply(t, tuner, pinTo(2, 10, 20))
	require.NoError(t, m.SetAffinity(20, cpuset.Of(3)))
	outcome := undo(t, tuner, change.UndoRequest{IDs: []uint64{2}})
	assert.ElementsMatch(t, []string{"affinity 2 to 1: done", "affinity 3 to 1: refused"}, brief(outcome.Changes))
	assert.Empty(t, outcome.Undone)
	outcome = undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.ElementsMatch(t, []string{"affinity 1 to 0-3: done", "affinity 3 to 0-3: refused"}, brief(outcome.Changes))
	require.NoError(t, m.SetAffinity(20, cpuset.Of(2)))
	assert.Equal(t, []uint64{2, 1}, undo(t, tuner, change.UndoRequest{IDs: []uint64{1, 2}}).Undone)
}

// Time passes between the plan and its start, and between that and a change's turn.
func TestUndoLooksAgainBeforeItActs(t *testing.T) {
	for name, again := range map[string]bool{"under the lock": true, "at its turn": false} {
		m, _, tuner := journalled(t, 10)
		apply(t, tuner, pinTo(1, 10))
		p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{Last: 1})
		require.NoError(t, err)
		assert.Equal(t, []string{"affinity 1 to 0-3: planned"}, brief(p.Changes))
		if !again {
			p.Undo.IDs = nil
		}
		require.NoError(t, m.SetAffinity(10, cpuset.Of(3))) // while the user thinks
		outcome := applyPlan(t, tuner, p)
		assert.Equal(t, attr.Refused, outcome.Changes[0].Status, name)
		assert.Equal(t, "3", m.Task(10).Affinity.String(), name)
	}
}

// What another piton undid meanwhile is not undone once more.
func TestUndoOfWhatWasUndoneMeanwhile(t *testing.T) {
	_, j, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{All: true})
	require.NoError(t, err)
	undo(t, tuner, change.UndoRequest{All: true})
	outcome, err := tuner.Apply(t.Context(), p, change.Confirmation{})
	require.NoError(t, err)
	assert.Equal(t, []string{"entry 1 was already undone"}, change.Texts(outcome.Warnings))
	assert.Equal(t, change.AllDone, outcome.Verdict())
	assert.Len(t, changetest.Entries(t, j), 2)
}

// A guard waits for no lock: it can revert an older entry after the journal was read. What the
// newer entry found is not to be restored then.
func TestUndoWhileAGuardReverts(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j, Guards: &guards{others: []history.GuardState{{Entry: 1, Waiting: true}}}})
	apply(t, tuner, pinTo(1, 10))
	apply(t, tuner, changetest.Pin(change.ScopeProcess, cpuset.Of(0, 1, 2, 3), 10))
	p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{Last: 1})
	require.NoError(t, err)
	p.Undo.IDs = nil
	reverted, outcome, err := m.Tuner(change.Options{Journal: j}).Revert(t.Context(), changetest.Entries(t, j)[0], map[attr.Key]bool{}, func() bool { return false })
	require.NoError(t, err)
	_, err = tuner.Record(reverted, outcome)
	require.NoError(t, err)
	require.True(t, changetest.Entries(t, j)[0].Undone)
	assert.Equal(t, []uint64{2, 1}, applyPlan(t, tuner, p).Undone)
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
}

// reverting is a guard that is reverting when its entry is undone.
type reverting struct {
	guards
	revert func()
}

func (g *reverting) Undone([]uint64) ([]uint64, error) {
	g.revert()
	return nil, nil
}

// TestUndoAfterAGuardFindsNewborns: a thread is born while what the guard wrote is restored.
func TestUndoAfterAGuardFindsNewborns(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: &reverting{guards: guards{others: []history.GuardState{{Entry: 1, Waiting: true}}}, revert: func() {
		require.NoError(t, m.SetAffinity(10, cpuset.Of(1)))
		m.Before("SetAffinity", 10, func() { m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(1), Start: 3000}) })
	}}})
	apply(t, tuner, pinTo(1, 10))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0-3"}, masks(m, 10, 11))
}

func TestUndoSaysWhatIsGone(t *testing.T) {
	m, j, tuner := journalled(t, 10, 20)
	apply(t, tuner, pinTo(1, 10, 20))
	m.Kill(10)
	m.Replace(20, 20, "other") // another process with the number
	calls := len(m.Calls())
	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, 2, outcome.Count(attr.Unchanged))
	assert.Equal(t, "20 has ended, so there is nothing to undo", outcome.Changes[0].Reason)
	assert.Len(t, m.Calls(), calls)
	assert.True(t, changetest.Entries(t, j)[0].Undone)
	assert.Equal(t, change.AllDone, outcome.Verdict())
}

func TestUndoReachesThreadsBornSince(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	m.Write("proc/uptime", "10.50 1.00\n")
	m.SpawnAs(10, 13, kernelfake.Task{Affinity: cpuset.Of(1), Start: 1040}) // has had it before
	apply(t, tuner, pinTo(1, 10))
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(1), Start: 1050}) // inherited what piton set
	m.SpawnAs(10, 12, kernelfake.Task{Affinity: cpuset.Of(2), Start: 1051}) // set itself
	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, 2, outcome.Count(attr.Done))
	assert.Equal(t, []string{"left alone, as born since entry 1 with another value: thread job (12)"}, change.Texts(outcome.Warnings))
	for tid, want := range map[kernel.TID]string{10: "0-3", 11: "0-3", 12: "2", 13: "1"} {
		assert.Equal(t, want, m.Task(tid).Affinity.String(), "%d", tid)
	}
}

// TestUndoIsAStack: what a newer entry found is not restored below it, also of a thread that was
// born between, and of a newer entry whose end is not recorded.
func TestUndoIsAStack(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	m.Write("proc/uptime", "10.50 1.00\n")
	apply(t, tuner, pinTo(1, 10))
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(1), Start: 1050})
	apply(t, tuner, changetest.Pin(change.ScopeThread, cpuset.Of(2), 11))
	older := undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.Empty(t, older.Undone)
	bad, _ := older.FirstBad()
	assert.Equal(t, "entry 2 has changed it from 1 to 2 since; undo that one first, or force this", bad.Reason)
	assert.Equal(t, []string{"0-3", "2"}, masks(m, 10, 11))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0-3"}, masks(m, 10, 11))

	apply(t, tuner, pinTo(1, 10))
	back := journal.Record{Kind: journal.Begin, Changes: []change.Change{{Object: attr.Object{PID: 10, TID: 10, StartTicks: 1010}, Attribute: attr.Affinity,
		Before: cpuset.Of(1), After: cpuset.Of(0, 1, 2, 3)}}}
	_, err := j.Append(&back)
	require.NoError(t, err)
	require.NoError(t, m.SetAffinity(10, cpuset.Of(0, 1, 2, 3)))
	assert.NotContains(t, undo(t, tuner, change.UndoRequest{IDs: []uint64{back.ID - 1}}).Undone, back.ID-1)
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
}

// TestUndoOfANewThreadAboveAnUndoneEntry: what the newer entry found of its process was restored to
// what there was before that, and is what the thread gets.
func TestUndoOfANewThreadAboveAnUndoneEntry(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	m.Write("proc/uptime", "10.50 1.00\n")
	apply(t, tuner, pinTo(1, 10))
	apply(t, tuner, pinTo(2, 10))
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(2), Start: 1050})
	require.NoError(t, m.SetAffinity(10, cpuset.Of(1))) // by somebody else
	assert.Equal(t, []uint64{1}, undo(t, tuner, change.UndoRequest{IDs: []uint64{1}}).Undone)
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0-3"}, masks(m, 10, 11))
}

// TestUndoAboveAConfirmedEntry: what a guard has reverted was made once more and kept, so that it is
// what the newest entry found.
func TestUndoAboveAConfirmedEntry(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j, Guards: &guards{}})
	apply(t, tuner, pinTo(1, 10))
	reverted, outcome, err := tuner.Revert(t.Context(), changetest.Entries(t, j)[0], map[attr.Key]bool{}, func() bool { return false })
	require.NoError(t, err)
	reverted.Origin.Kind = journal.ByGuard
	_, err = tuner.Record(reverted, outcome)
	require.NoError(t, err)
	apply(t, tuner, pinTo(1, 10))
	apply(t, tuner, pinTo(2, 10))
	last := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"affinity 2 to 1: done"}, brief(last.Changes))
	undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
}

// TestUndoOfATrialBelowWhichWasRestored: what the trial may have left is there, but since an older
// entry was undone that had found it.
func TestUndoOfATrialBelowWhichWasRestored(t *testing.T) {
	m, j, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	tried := journal.Record{Kind: journal.Begin, Changes: []change.Change{{Object: attr.Object{PID: 10, TID: 10, StartTicks: 1010}, Attribute: attr.Affinity,
		Status: attr.Planned, Before: cpuset.Of(1), After: cpuset.Of(0, 1, 2, 3), Tried: []attr.Value{cpuset.Of(2), cpuset.Of(0, 1, 2, 3)}}}}
	_, err := j.Append(&tried) // and no end, as the disk was full
	require.NoError(t, err)
	undo(t, tuner, change.UndoRequest{IDs: []uint64{1}})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
}

// A child that has exactly what was set gets what was there before, whatever it has that from.
func TestUndoAsksNotFromWhomAChildHasIt(t *testing.T) {
	for _, reset := range []bool{false, true} {
		m := changetest.New(t)
		m.Write("proc/uptime", "100.00 1.00\n")
		nice := kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Attr: kernel.SchedAttr{Nice: 5}}
		m.SpawnAs(10, 10, nice)
		nice.Attr.Policy, nice.Attr.RTPrio, nice.Attr.ResetOnFork = kernel.FIFO, 5, reset
		m.SpawnAs(10, 11, nice)
		tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
		apply(t, tuner, []change.Request{{Targets: []change.Target{{TID: 10, Scope: change.ScopeThread}}, Set: []attr.Setting{attr.SetNice(0)}}})
		m.SpawnAs(30, 30, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Start: 20000})
		m.Tasks[30].PPID = 10
		undo(t, tuner, change.UndoRequest{All: true})
		assert.Equal(t, 5, m.Task(10).Attr.Nice)
		assert.Equal(t, 5, m.Task(30).Attr.Nice, "reset on fork: %t", reset)
	}
}

// A thread born between two entries is in the newer one only; what it had before
// that one, it had from the older.
func TestUndoOfSeveralReachesThreadsBornBetween(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	apply(t, tuner, pinTo(1, 10))
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(1)})
	apply(t, tuner, pinTo(2, 10))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(11).Affinity.String())
}

func TestUndoSince(t *testing.T) {
	_, j, tuner := journalled(t, 10)
	for _, cpu := range []cpuset.CPU{1, 2, 3} {
		apply(t, tuner, pinTo(cpu, 10))
	}
	second := changetest.Entries(t, j)[1].Time
	outcome := undo(t, tuner, change.UndoRequest{Since: second})
	assert.Equal(t, []string{"affinity 3 to 1: done"}, brief(outcome.Changes), "that moment included")
	_, err := tuner.Undo(t.Context(), change.UndoRequest{Since: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, change.ErrNothingToUndo)
}

func TestUndoWrongChoices(t *testing.T) {
	m, _, tuner := journalled(t, 10)
	_, err := tuner.Undo(t.Context(), change.UndoRequest{All: true})
	require.ErrorIs(t, err, change.ErrNothingToUndo)
	_, err = m.Tuner(bare).Undo(t.Context(), change.UndoRequest{All: true})
	require.ErrorIs(t, err, change.ErrNoJournal)

	apply(t, tuner, pinTo(1, 10))
	undo(t, tuner, change.UndoRequest{Last: 1})
	var usage attr.UsageError
	for name, q := range map[string]change.UndoRequest{"no choice": {}, "negative": {Last: -1}} {
		_, err := tuner.Undo(t.Context(), q)
		require.ErrorAs(t, err, &usage, name)
	}
	for name, id := range map[string]uint64{"no such entry": 99, "an undo": 2} {
		_, err := tuner.Undo(t.Context(), change.UndoRequest{IDs: []uint64{id}})
		require.Error(t, err, name)
		assert.NotErrorAs(t, err, &usage, name)
	}
}
