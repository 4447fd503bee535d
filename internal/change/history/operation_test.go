package history_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// operationOf is an entry with a mask for each of some tasks.
func operationOf(id uint64, comms ...string) journal.Entry {
	e := journal.Entry{ID: id, User: "root", Finished: true, Command: "piton pin", Time: time.Date(2026, 11, 20, 21, 0, int(id), 0, time.Local)}
	for i, comm := range comms {
		e.Changes = append(e.Changes, attr.Change{Object: attr.Object{PID: 100, TID: 100 + kernel.TID(i), StartTicks: 7, Comm: comm},
			Attribute: attr.Affinity, Before: cpuset.Of(0, 1), After: cpuset.Of(1), Status: attr.Done})
	}
	return e
}

// plans answers PlanUndo by entry.
type plans map[uint64]change.Plan

func (p plans) PlanUndo(_ context.Context, q change.UndoRequest) (change.Plan, error) {
	if plan, ok := p[q.IDs[0]]; ok {
		return plan, nil
	}
	return change.Plan{}, errors.New("no such entry")
}

func TestAnIsolateIsOneOperation(t *testing.T) {
	isolate, first, second := operationOf(4, "a", "b", "c", "d"), operationOf(5, "a", "b"), operationOf(6)
	isolate.Sweep, isolate.Reason, isolate.Command = 900, "isolate 1", "piton isolate 1 --revert-after 5s"
	isolate.Changes[3].Status = attr.Failed
	isolate.Undone, isolate.UndoneBy = true, 6
	for _, undo := range []*journal.Entry{&first, &second} { // the second found nothing left to do
		undo.Undoes, undo.Origin = []uint64{4}, journal.Origin{Kind: journal.ByGuard, Why: "it was not confirmed within 5s"}
	}
	operations := history.Operations([]journal.Entry{isolate, first, second}, nil)
	if assert.Len(t, operations, 1) {
		d := operations[0]
		assert.Equal(t, "isolate 1 · 3 of 4 moved · undone by guard 21:00:06", d.What()+" · "+d.Change()+" · "+d.State())
		assert.Equal(t, "undo 5, by guard 21:00:05: 2 restored; it was not confirmed within 5s", d.UndoLine(&d.Undos[0]))
	}
	lost := second
	lost.Undoes = []uint64{2} // which has left the journal
	assert.Empty(t, history.Operations([]journal.Entry{lost}, nil), "an undo that did nothing has no row")
	lost.Changes = operationOf(1, "a").Changes
	kept := history.Operations([]journal.Entry{lost}, nil)
	assert.Equal(t, "undo of 2", kept[0].State())
}

func TestStateOfOperations(t *testing.T) {
	inForce, gone, changed := operationOf(1, "a", ""), operationOf(2, "", ""), operationOf(3, "c")
	plan := func(e journal.Entry, f func(i int, c *attr.Change)) change.Plan {
		p := change.Plan{}
		for i, c := range e.Changes {
			c.Status = attr.Planned
			f(i, &c)
			p.Changes = append(p.Changes, c)
		}
		return p
	}
	operations := history.Operations([]journal.Entry{inForce, gone, changed, operationOf(9, "x")}, []history.GuardState{{Entry: 1, Left: 12900 * time.Millisecond}, {Entry: 9, Left: time.Hour, Making: true}})
	found := change.Check(t.Context(), plans{
		1: plan(inForce, func(i int, c *attr.Change) {
			if i == 1 {
				c.Status = attr.Unchanged
			}
		}),
		2: plan(gone, func(_ int, c *attr.Change) { c.Status, c.Err = attr.Unchanged, attr.ErrGone }),
		3: plan(changed, func(_ int, c *attr.Change) { c.Refuse("somebody else has changed it since") })}, operations)
	var got []string
	for i := range operations {
		operations[i].Found = found[operations[i].ID]
		got = append(got, operations[i].State())
	}
	assert.Equal(t, []string{"1 of 2 in force, reverted in 12 s unless kept", "task has ended", "changed again by entry 9", "under way"}, got)
	assert.Equal(t, "affinity of a (100), 2 threads", operations[0].What())
	assert.Equal(t, "0-1 → 1", operations[0].Change())
	assert.Equal(t, "a", history.TaskName(inForce.Changes[1], inForce.Changes), "of the same process")
	assert.Equal(t, "affinity of ended task (100), 2 threads", operations[1].What(), "no name is empty")
}

// TestRevertThatFailed is a guard without the right to restore what it guards.
func TestRevertThatFailed(t *testing.T) {
	made := operationOf(1, "a", "b")
	revert := operationOf(2, "a", "b")
	revert.Undoes, revert.Origin = []uint64{1}, journal.Origin{Kind: journal.ByGuard, Why: "it was not confirmed within 5s"}
	c := &revert.Changes[1]
	c.Status, c.Err, c.Reason = attr.Failed, attr.NotPermitted(errors.New("EPERM")), "100 belongs to root; changing others' processes needs CAP_SYS_NICE: run piton with sudo"
	d := history.Operations([]journal.Entry{made, revert}, nil)[0]
	d.Found = &history.Found{Status: history.InForce}
	assert.Equal(t, "in force, revert failed: needs CAP_SYS_NICE", d.State())
	assert.Equal(t, "undo 2, by guard 21:00:02: 1 restored, 1 left; it was not confirmed within 5s; revert failed: needs CAP_SYS_NICE: thread b (101)", d.UndoLine(&d.Undos[0]))
	c.Err = errors.New("EBUSY")
	assert.Equal(t, "revert failed: "+c.Reason, d.RevertFailed())
	d.Found = &history.Found{Status: history.Undone}
	assert.Equal(t, "undone", d.State(), "by somebody else since")

	c.Status, c.Err, c.Reason = attr.Done, nil, "CPU 0 in force: CPU 1 is not online here (online: 0)"
	assert.Contains(t, d.UndoLine(&d.Undos[0]), "; not as before: thread b (101): CPU 0 in force: CPU 1 is not online here (online: 0)")
	c.Status, c.Err, c.Reason = attr.Failed, errors.New("EBUSY"), "because"

	byHand := revert
	byHand.ID, byHand.Origin = 3, journal.Origin{Kind: journal.ByUndo}
	d = history.Operations([]journal.Entry{made, revert, byHand}, nil)[0]
	d.Found = &history.Found{Status: history.InForce}
	assert.Equal(t, "in force, revert failed: "+c.Reason, d.State())
	assert.Equal(t, "undo 3, 21:00:02: 1 restored, 1 left", d.UndoLine(&d.Undos[1]))
}
