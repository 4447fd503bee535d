package change_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
)

func TestJournalIsWrittenBeforeTheChange(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	file := m.Line("24", "eth0", "0-3")
	j := changetest.Journal(t)
	var before, beforeFile []change.Entry
	m.Before("SetAffinity", 10, func() { before = changetest.Entries(t, j) })
	m.Settings.Before("WriteSetting", file, func() { beforeFile = changetest.Entries(t, j) })
	requests := pin(change.ScopeProcess, cpuset.Of(1), 10)
	requests[0].Reason = "least-loaded: cpu 1, 0% busy"
	requests[0].Files = []attr.FileSetting{attr.SetIRQ(24, "irq 24 (eth0)", cpuset.Of(1))}
	outcome := apply(t, m.Tuner(change.Options{Journal: j, User: "balu (sudo)", Command: "piton pin 10"}), requests)

	require.Len(t, before, 1)
	assert.Equal(t, before, beforeFile)
	assert.False(t, before[0].Finished)
	assert.Equal(t, []string{"irq-affinity 0-3 to 1: planned", "affinity 0-3 to 1: planned"}, brief(before[0].Changes))
	assert.Equal(t, attr.Object{Comm: "eth0", Path: file, Name: "irq 24 (eth0)"}, before[0].Changes[0].Object)
	after := changetest.Entries(t, j)
	require.Len(t, after, 1)
	e := after[0]
	assert.Equal(t, []any{outcome.Entry, true, false, "", "balu (sudo)", "piton pin 10", "least-loaded: cpu 1, 0% busy"},
		[]any{e.ID, e.Finished, e.PastBoot, e.Foreign, e.User, e.Command, e.Reason})
	assert.Equal(t, []change.Target{{TID: 10, StartTicks: 1010}}, e.Targets)
	assert.Equal(t, brief(outcome.Changes), brief(e.Changes))
	assert.Equal(t, uint64(1010), e.Changes[1].StartTicks)
}

func TestJournalKeepsEveryReason(t *testing.T) {
	m := changetest.New(t)
	var requests []change.Request
	for i, reason := range []string{"one", "two", "one", ""} {
		tid := kernel.TID(10 + i)
		m.Spawn(tid, tid)
		r := pin(change.ScopeProcess, cpuset.Of(1), tid)[0]
		r.Reason = reason
		requests = append(requests, r)
	}
	j := changetest.Journal(t)
	apply(t, m.Tuner(change.Options{Journal: j}), requests)
	assert.Equal(t, "one; two", changetest.Entries(t, j)[0].Reason)
}

func TestNothingIsChangedWithoutItsRecord(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j})
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, os.Remove(j.Path()))
	require.NoError(t, os.Mkdir(j.Path(), 0o700)) // so that it cannot be opened, even by root
	_, err := tuner.Apply(t.Context(), p, change.Confirmation{})
	require.Error(t, err)
	assert.Empty(t, m.Calls())
}

func TestNothingDoneIsNothingRecorded(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	outcome := apply(t, m.Tuner(change.Options{Journal: j}), pin(change.ScopeProcess, cpuset.Of(0, 1, 2, 3), 10, 99))
	assert.Zero(t, outcome.Entry)
	assert.Empty(t, changetest.Entries(t, j))
}

func TestJournalRecordsNewThreads(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j})
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	looks := 0
	m.OnList = func(kernel.TID) {
		if looks++; looks == 1 {
			m.Spawn(10, 12)
			m.SpawnAs(10, 13, kernelfake.Task{Affinity: cpuset.Of(1)})
		}
	}
	recorded := false
	m.Before("SetAffinity", 12, func() {
		e := changetest.Entries(t, j)[0]
		recorded = len(e.Changes) == 2 && e.Changes[1].TID == 12
	})
	outcome := applyPlan(t, tuner, p)
	assert.True(t, recorded, "before the change, as ever")
	e := changetest.Entries(t, j)
	require.Len(t, e, 1)
	assert.Equal(t, brief(outcome.Changes), brief(e[0].Changes))
	assert.Len(t, e[0].Changes, 3)
}

// began makes an entry of a piton that was killed.
func began(t *testing.T, j *journal.Journal, changes []change.Change) {
	t.Helper()
	r := journal.Record{Kind: journal.Begin}
	r.Changes = changes
	_, err := j.Append(&r)
	require.NoError(t, err)
}

// Records of a boot that is over are of other tasks, lines and masks.
func TestPastBootIsLeftAlone(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	file := m.Line("24", "eth0", "1")
	store := &journal.Memory{}
	began(t, journal.New(store, journal.Where{Boot: "another"}), []change.Change{
		{Object: attr.Object{Comm: "eth0", Path: file}, Attribute: attr.IRQAffinity, Before: cpuset.Of(0), After: cpuset.Of(1)},
		{Object: attr.Object{PID: 10, TID: 10, StartTicks: 1010}, Attribute: attr.Nice, Before: attr.NiceValue(5), After: attr.NiceValue(0)},
	})
	j := journal.New(store, journal.Where{Boot: "this"})
	require.True(t, changetest.Entries(t, j)[0].PastBoot)
	tuner := m.Tuner(change.Options{Journal: j})
	for _, q := range []change.UndoRequest{{All: true, Force: true}, {Last: 1}, {Since: time.Now().Add(-time.Hour)}} {
		_, err := tuner.Undo(t.Context(), q)
		require.ErrorIs(t, err, change.ErrNothingToUndo)
	}
	_, err := tuner.Undo(t.Context(), change.UndoRequest{IDs: []uint64{1}, Force: true})
	require.ErrorContains(t, err, "before this boot")
	assert.Empty(t, m.Settings.Calls())
	assert.Empty(t, m.Calls())
}

// Numbers of another namespace mean other tasks: their entries are named, and refused by
// number, and stay for those who made them.
func TestForeignEntriesAreRefusedAndNotConsumed(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	store := &journal.Memory{}
	there := journal.New(store, journal.Where{Boot: "this", Namespaces: journal.Namespaces{PID: 2}})
	here := journal.New(store, journal.Where{Boot: "this", Namespaces: journal.Namespaces{PID: 1}})
	apply(t, m.Tuner(change.Options{Journal: there}), pin(change.ScopeProcess, cpuset.Of(1), 10))
	tuner := m.Tuner(change.Options{Journal: here})
	const why = "entry 1 was made in another PID namespace: undo it there"
	const note = "left alone: entry 1 of another PID namespace; undo works only there"
	for name, q := range map[string]change.UndoRequest{
		"all": {All: true}, "forced": {All: true, Force: true}, "since": {Since: time.Now().Add(-time.Hour)},
	} {
		outcome := undo(t, tuner, q)
		assert.Empty(t, outcome.Changes, name)
		assert.Equal(t, []string{note}, change.Texts(outcome.Warnings), name)
		assert.Equal(t, change.AllDone, outcome.Verdict(), name)
		assert.Zero(t, outcome.Entry, name)
	}
	for name, q := range map[string]change.UndoRequest{"by number": {IDs: []uint64{1}}, "and so, forced": {IDs: []uint64{1}, Force: true}} {
		p, err := tuner.PlanUndo(t.Context(), q)
		require.NoError(t, err, name)
		assert.Equal(t, []string{"affinity 1 to 0-3: refused"}, brief(p.Changes), name)
		assert.Equal(t, why, p.Changes[0].Reason, name)
		assert.Empty(t, p.Undoes, name)
		outcome := applyPlan(t, tuner, p)
		assert.Equal(t, change.Failed, outcome.Verdict(), name)
		assert.Zero(t, outcome.Entry, name)
	}
	_, err := tuner.Undo(t.Context(), change.UndoRequest{Last: 1})
	require.ErrorIs(t, err, change.ErrNothingToUndo)

	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(2), 10)) // of this one's own
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 2 to 1: done"}, brief(outcome.Changes))
	assert.Equal(t, []uint64{2}, outcome.Undone)
	assert.Equal(t, []string{note}, change.Texts(outcome.Warnings))
	assert.Equal(t, change.AllDone, outcome.Verdict())
	assert.Equal(t, "1", m.Task(10).Affinity.String())
	assert.False(t, changetest.Entries(t, here)[0].Undone)

	undo(t, m.Tuner(change.Options{Journal: there}), change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String(), "where it was made it is undone")
	assert.True(t, changetest.Entries(t, here)[0].Undone)
	_, err = tuner.Undo(t.Context(), change.UndoRequest{All: true})
	require.ErrorIs(t, err, change.ErrNothingToUndo)
}

// A later piton may write attributes that this one does not know.
func TestUnknownAttributesAreRefused(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j := changetest.Journal(t)
	began(t, j, []change.Change{
		{Object: attr.Object{PID: 10, TID: 10, StartTicks: 1010}, Attribute: "novel", Before: attr.Opaque("0"), After: attr.Opaque("1")},
		{Object: attr.Object{Path: "/proc/novel"}, Attribute: "novel", Before: attr.Opaque("0"), After: attr.Opaque("1")},
	})
	outcome := undo(t, m.Tuner(change.Options{Journal: j}), change.UndoRequest{All: true, Force: true})
	require.Len(t, outcome.Changes, 2)
	for _, c := range outcome.Changes {
		assert.Equal(t, attr.Refused, c.Status)
		assert.Contains(t, c.Reason, `"novel"`)
	}
	assert.Empty(t, m.Calls())
}

// What was done without a journal may be recorded afterwards, and undone.
func TestRecordAfterwards(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	without := m.Tuner(bare)
	p := plan(t, without, pin(change.ScopeProcess, cpuset.Of(1), 10, 20))
	m.Kill(20)
	outcome := applyPlan(t, without, p)
	_, err := without.Record(p, outcome)
	require.ErrorIs(t, err, change.ErrNoJournal)
	j := changetest.Journal(t)
	with := m.Tuner(change.Options{Journal: j})
	id, err := with.Record(p, outcome)
	require.NoError(t, err)
	e := changetest.Entries(t, j)[0]
	assert.Equal(t, []any{uint64(1), true, true}, []any{id, e.Finished, e.Undoable()})
	assert.Contains(t, brief(undo(t, with, change.UndoRequest{All: true}).Changes), "affinity 1 to 0-3: done")
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
}
