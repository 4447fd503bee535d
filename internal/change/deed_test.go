package change

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// deedOf is an entry with a mask for each of some tasks.
func deedOf(id uint64, comms ...string) Entry {
	e := Entry{ID: id, User: "root", Finished: true, Command: "piton pin", Time: time.Date(2026, 11, 20, 21, 0, int(id), 0, time.Local)}
	for i, comm := range comms {
		e.Changes = append(e.Changes, Change{Object: attr.Object{PID: 100, TID: 100 + kernel.TID(i), StartTicks: 7, Comm: comm},
			Attribute: attr.Affinity, Before: cpuset.Of(0, 1), After: cpuset.Of(1), Status: attr.Done})
	}
	return e
}

// plans answers PlanUndo by entry.
type plans map[uint64]Plan

func (p plans) PlanUndo(_ context.Context, q UndoRequest) (Plan, error) {
	if plan, ok := p[q.IDs[0]]; ok {
		return plan, nil
	}
	return Plan{}, errors.New("no such entry")
}

func TestAnIsolateIsOneDeed(t *testing.T) {
	isolate, first, second := deedOf(4, "a", "b", "c", "d"), deedOf(5, "a", "b"), deedOf(6)
	isolate.Sweep, isolate.Reason, isolate.Command = 900, "isolate 1", "piton isolate 1 --revert-after 5s"
	isolate.Changes[3].Status = attr.Failed
	isolate.Undone, isolate.UndoneBy = true, 6
	for _, undo := range []*Entry{&first, &second} { // the second found nothing left to do
		undo.Undoes, undo.Command = []uint64{4}, "piton guard: revert entry 4: it was not confirmed within 5s"
	}
	deeds := Deeds([]Entry{isolate, first, second}, nil)
	if assert.Len(t, deeds, 1) {
		d := deeds[0]
		assert.Equal(t, "isolate 1 · 3 of 4 moved · undone by guard 21:00:06", d.What()+" · "+d.Change()+" · "+d.State())
		assert.Equal(t, "undo 5, by guard 21:00:05: 2 restored; it was not confirmed within 5s", d.UndoLine(&d.Undos[0]))
	}
	lost := second
	lost.Undoes = []uint64{2} // which has left the journal
	assert.Empty(t, Deeds([]Entry{lost}, nil), "an undo that did nothing has no row")
	lost.Changes = deedOf(1, "a").Changes
	kept := Deeds([]Entry{lost}, nil)
	assert.Equal(t, "undo of 2", kept[0].State())
}

func TestStateOfDeeds(t *testing.T) {
	inForce, gone, changed := deedOf(1, "a", ""), deedOf(2, "", ""), deedOf(3, "c")
	plan := func(e Entry, f func(i int, c *Change)) Plan {
		p := Plan{}
		for i, c := range e.Changes {
			c.Status = attr.Planned
			f(i, &c)
			p.Changes = append(p.Changes, c)
		}
		return p
	}
	deeds := Deeds([]Entry{inForce, gone, changed, deedOf(9, "x")}, []GuardState{{Entry: 1, Left: 12900 * time.Millisecond}, {Entry: 9, Left: time.Hour, Making: true}})
	found := Check(t.Context(), plans{
		1: plan(inForce, func(i int, c *Change) {
			if i == 1 {
				c.Status = attr.Unchanged
			}
		}),
		2: plan(gone, func(_ int, c *Change) { c.Status, c.Err = attr.Unchanged, attr.ErrGone }),
		3: plan(changed, func(_ int, c *Change) { c.Refuse("somebody else has changed it since") })}, deeds)
	var got []string
	for i := range deeds {
		deeds[i].Found = found[deeds[i].ID]
		got = append(got, deeds[i].State())
	}
	assert.Equal(t, []string{"1 of 2 in force, reverted in 12 s unless kept", "task has ended", "changed again by entry 9", "under way"}, got)
	assert.Equal(t, "affinity of a (100), 2 threads", deeds[0].What())
	assert.Equal(t, "0-1 → 1", deeds[0].Change())
	assert.Equal(t, "a", TaskName(inForce.Changes[1], inForce.Changes), "of the same process")
	assert.Equal(t, "affinity of ended task (100), 2 threads", deeds[1].What(), "no name is empty")
}

// TestRevertThatFailed is a guard without the right to restore what it guards.
func TestRevertThatFailed(t *testing.T) {
	made := deedOf(1, "a", "b")
	revert := deedOf(2, "a", "b")
	revert.Undoes, revert.Command = []uint64{1}, "piton guard: revert entry 1: it was not confirmed within 5s"
	c := &revert.Changes[1]
	c.Status, c.Err, c.Reason = attr.Failed, attr.NotPermitted(errors.New("EPERM")), "100 belongs to root; changing others' processes needs CAP_SYS_NICE: run piton with sudo"
	d := Deeds([]Entry{made, revert}, nil)[0]
	d.Found = &Found{Standing: InForce}
	assert.Equal(t, "in force, revert failed: needs CAP_SYS_NICE", d.State())
	assert.Equal(t, "undo 2, by guard 21:00:02: 1 restored, 1 left; it was not confirmed within 5s; revert failed: needs CAP_SYS_NICE: thread b (101)", d.UndoLine(&d.Undos[0]))
	c.Err = errors.New("EBUSY")
	assert.Equal(t, "revert failed: "+c.Reason, d.RevertFailed())
	d.Found = &Found{Standing: Undone}
	assert.Equal(t, "undone", d.State(), "by somebody else since")

	c.Status, c.Err, c.Reason = attr.Done, nil, "CPU 0 in force: CPU 1 is not online here (online: 0)"
	assert.Contains(t, d.UndoLine(&d.Undos[0]), "; not as before: thread b (101): CPU 0 in force: CPU 1 is not online here (online: 0)")
	c.Status, c.Err, c.Reason = attr.Failed, errors.New("EBUSY"), "because"

	byHand := revert
	byHand.ID, byHand.Command = 3, "piton undo 1"
	d = Deeds([]Entry{made, revert, byHand}, nil)[0]
	d.Found = &Found{Standing: InForce}
	assert.Equal(t, "in force, revert failed: "+c.Reason, d.State())
	assert.Equal(t, "undo 3, 21:00:02: 1 restored, 1 left", d.UndoLine(&d.Undos[1]))
}
