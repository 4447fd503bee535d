package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
)

// through sends a value as data.
func through[T any](t *testing.T, v T) (back T) {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &back), "%s", b)
	return back
}

func TestOrdersAsData(t *testing.T) {
	for _, o := range []Order{
		{Isolate: "2-3", Confirmation: Confirmation{Yes: true, RevertAfter: 16 * time.Second}}, {Include: "2-3"}, {Keep: []uint64{12}},
		{Undo: &UndoRequest{IDs: []uint64{12, 13}}},
		{Requests: []Request{{Targets: []Target{{TID: 3641, StartTicks: 77, Scope: ScopeThread}}, Set: []attr.Setting{attr.SetNice(5)},
			Files: []attr.FileSetting{attr.SetIRQ(24, "irq 24", cpuset.Of(2))}, Reason: "why", Restore: true}}},
	} {
		assert.Equal(t, o, through(t, o))
		assert.NoError(t, o.Check())
	}
	assert.Error(t, Order{}.Check())
	assert.Error(t, Order{Isolate: "2", Include: "3"}.Check())
	odd := Order{Requests: []Request{{Targets: []Target{{TID: 3641, Scope: ScopeTree}, {TID: 3642, Scope: 7}}}}}
	assert.EqualError(t, odd.Check(), "the order has target 3642 with scope 7, which does not exist")
}

func TestOrderOfAPlanNamesItsTasksForGood(t *testing.T) {
	c := Change{Object: attr.Object{PID: 3641, TID: 3641, StartTicks: 77}, Attribute: attr.Nice, Before: attr.NiceValue(0), After: attr.NiceValue(5), Status: attr.Planned}
	requests := []Request{{Targets: []Target{{TID: 3641}, {TID: 4000, StartTicks: 9}}, Set: []attr.Setting{attr.SetNice(5)}}}
	plan := Plan{Order: Order{Requests: requests}, Changes: []Change{c}}
	o := plan.Elsewhere()
	assert.Equal(t, []Target{{TID: 3641, StartTicks: 77}, {TID: 4000, StartTicks: 9}}, o.Requests[0].Targets)
	assert.Zero(t, plan.Requests[0].Targets[0].StartTicks, "the plan stays as it is")

	refused := c
	refused.Status = attr.Refused
	irq := Change{Object: attr.Object{Path: "/proc/irq/24/smp_affinity_list", Name: "irq 24"}, Attribute: attr.IRQAffinity, After: cpuset.Of(1), Status: attr.Planned}
	undo := Plan{Undoes: []uint64{12}, Changes: []Change{c, refused, irq}}
	o = undo.Elsewhere()
	require.Len(t, o.Requests, 2, "not what somebody else has changed since")
	assert.Equal(t, []Target{{TID: 3641, StartTicks: 77, Scope: ScopeThread}}, o.Requests[0].Targets)
	assert.Equal(t, []attr.Setting{attr.SetNice(5)}, o.Requests[0].Set)
	assert.Equal(t, []attr.FileSetting{attr.SetIRQ(24, "irq 24", cpuset.Of(1))}, o.Requests[1].Files)
	assert.Nil(t, o.Undo, "another piton has another journal")
}

// toldGuard is a guard that only tells what it is.
type toldGuard struct{ Guard }

func (toldGuard) Words() []string { return []string{"Process 4711 reverts it."} }
func (toldGuard) Status() GuardStatus {
	return GuardStatus{PID: 4711, Entry: 12, After: 16 * time.Second}
}

func TestRepliesAsData(t *testing.T) {
	denied := Change{Object: attr.Object{PID: 1, TID: 1}, Attribute: attr.Nice, After: attr.NiceValue(-5), Status: attr.Failed, Err: attr.NotPermitted(errors.New("EPERM"))}
	out := Outcome{Entry: 12, Changes: []Change{denied}, Passes: 2, Newborn: 3, Undone: []uint64{9}, Warnings: []Warning{{attr.OneWay, "no way back"}},
		Damage: []journal.Damage{{Line: 3, Why: "cut"}}, Unrecorded: errors.New("disk full"), Guard: toldGuard{}}
	back := through(t, NewReply(out, nil))
	require.NoError(t, back.Err())
	got := back.Outcome
	assert.Equal(t, out.Verdict(), got.Verdict())
	assert.ErrorIs(t, got.Changes[0].Err, attr.ErrNotPermitted)
	assert.EqualError(t, got.Unrecorded, "disk full")
	assert.Equal(t, out.Guard.Status(), got.Guard.Status())
	assert.Equal(t, out.Guard.Words(), got.Guard.Words())
	assert.ErrorContains(t, got.Guard.Keep(), "another piton")
	got.Changes, got.Unrecorded, got.Guard = out.Changes, out.Unrecorded, out.Guard
	assert.Equal(t, out, got)
	assert.Equal(t, NotPermitted, through(t, Outcome{Changes: []Change{denied}}).Verdict())

	refusal := &ConfirmationError{Needs: []Need{{BusyRealTime, "it is busy"}}}
	back = through(t, NewReply(Outcome{}, fmt.Errorf("order: %w", refusal)))
	assert.ErrorIs(t, back.Err(), ErrNeedsConfirmation)
	assert.Equal(t, refusal, back.Err())
	assert.EqualError(t, through(t, NewReply(Outcome{}, errors.New("no"))).Err(), "no")
}
