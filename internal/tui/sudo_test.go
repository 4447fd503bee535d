package tui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/partition"
)

// onSudo runs a test for a user whose changes need root.
func onSudo(t *testing.T, f func(r *rig, root *fakeRoot), options ...rigOption) {
	root := &fakeRoot{}
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		f(r, root)
	}, append(options, func(d *Deps) { d.Elevate = root.elevate })...)
}

// forbid makes every change one that needs root, which would make it as the entry.
func (r *rig) forbid(root *fakeRoot, entry uint64) {
	r.tuning.status, r.tuning.reason, r.tuning.err = attr.Refused, "needs CAP_SYS_NICE", attr.ErrNotPermitted
	root.reply.Outcome = done(entry, change.Plan{Changes: []change.Change{pinned(change.Target{TID: 3641}, attr.Planned)}})
}

func (r *rig) allow() { r.tuning.status, r.tuning.reason, r.tuning.err = "", "", nil }

// say answers the question that is open.
func (r *rig) say(key string) {
	r.t.Helper()
	r.wait(time.Second)
	require.False(r.t, r.m.dialogs.Empty())
	r.press(key)
}

func TestMissingRightsOfferSudo(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		r.forbid(root, 31)
		r.press("p")
		for _, words := range []string{"Use sudo?", "pin nqueens (3641)", "needs CAP_SYS_NICE", "your password"} {
			assert.Contains(t, r.text(), words)
		}
		r.say("y")
		assert.Equal(t, []change.Order{{Requests: []change.Request{{
			Targets: []change.Target{{TID: 3641, StartTicks: 36410}}, Set: []attr.Setting{attr.SetAffinity(cpuset.Of(5))}}}}}, root.orders)
		assert.Contains(t, r.line(-3), "nqueens (3641) → CPU 5 (was 0-7)")
		assert.Contains(t, r.line(-3), "(through sudo)")
		assert.Positive(t, r.sampler.refreshed)
	})
}

func TestSudoDeclined(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		r.forbid(root, 31)
		r.press("p")
		r.say("n")
		assert.Empty(t, root.orders)
		assert.Contains(t, r.line(-2), "needs CAP_SYS_NICE")
		root.reply.Error = "sudo: a password is required"
		r.press("p")
		r.say("y")
		assert.Contains(t, r.line(-2), "pin through sudo: sudo: a password is required")
	})
}

func TestMissingRightsWithoutSudo(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.forbid(&fakeRoot{}, 0)
		r.press("p")
		assert.Contains(t, r.line(-2), "needs CAP_SYS_NICE")
	})
}

// TestEndedDuringThePassword: root's piton finds no task, and so no name.
func TestEndedDuringThePassword(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		r.forbid(root, 31)
		gone := &root.reply.Outcome.Changes[0]
		gone.Comm, gone.Status, gone.Err, gone.Reason = "", attr.Refused, attr.ErrGone, "3641 has ended"
		r.press("p")
		r.say("y")
		assert.Contains(t, r.line(-2), "pin nqueens (3641): 3641 has ended")
	})
	onSudo(t, func(r *rig, root *fakeRoot) {
		r.forbid(root, 31)
		r.press("p")
		r.say("y")
		root.reply.Outcome.Entry = 0
		gone := &root.reply.Outcome.Changes[0]
		gone.Status, gone.Err, gone.Reason = attr.Unchanged, attr.ErrGone, "3641 has ended, so there is nothing to undo"
		r.press("z")
		assert.Contains(t, r.line(-2), "undo: 3641 has ended, so there is nothing to undo")
	})
}

// TestUndoOfWhatSudoMade undoes in the order of the changes, each in its own journal.
func TestUndoOfWhatSudoMade(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		r.press("p") // entry 7 of the own journal
		r.forbid(root, 7)
		r.press("p")
		r.say("y")
		r.allow()
		own := len(r.tuning.carried)
		root.reply.Outcome.Undone = []uint64{7}
		r.press("z")
		require.Len(t, root.orders, 2)
		assert.Equal(t, change.Order{Undo: &change.UndoRequest{IDs: []uint64{7}}}, root.orders[1])
		assert.Len(t, r.tuning.carried, own, "the own entry of that number stays")
		r.press("z")
		assert.Len(t, root.orders, 2)
		assert.Equal(t, []uint64{7}, r.tuning.carried[own].Undoes)
	})
}

// TestOwnUndoThroughSudo restores values: the entry is in a journal that root's piton
// does not have.
func TestOwnUndoThroughSudo(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		undo := change.Plan{Undoes: []uint64{7}, Changes: []change.Change{pinned(change.Target{TID: 3641, StartTicks: 36410}, attr.Planned)}}
		o := done(8, undo)
		o.Undone, o.Changes[0].Status, o.Changes[0].Err = nil, attr.Failed, attr.ErrNotPermitted
		r.outcome("undo", change.Order{Undo: &change.UndoRequest{IDs: []uint64{7}}}, undo, o)
		r.say("y")
		require.Len(t, root.orders, 1)
		assert.Nil(t, root.orders[0].Undo)
		assert.Equal(t, []change.Target{{TID: 3641, StartTicks: 36410, Scope: change.ScopeThread}}, root.orders[0].Requests[0].Targets)
		assert.True(t, root.orders[0].Requests[0].Restore)
	})
}

// TestDangerThroughSudo: the child arms the guard, and confirming takes its rights.
func TestDangerThroughSudo(t *testing.T) {
	guarded := func(r *rig, root *fakeRoot) {
		r.tuning.needs = busyRealTime
		r.forbid(root, 31)
		root.reply.Outcome.Guard = &fakeGuard{entry: 31}
		r.press("p")
		assert.Contains(t, r.text(), "nqueens is busy all the time")
		r.say("y")
		assert.Equal(t, change.Confirmation{Yes: true, RevertAfter: guardTime}, root.orders[0].Confirmation)
		assert.Contains(t, r.text(), "Keep it?")
		assert.Contains(t, r.text(), "Process 4711 reverts it.")
		root.reply = change.Reply{}
	}
	onSudo(t, func(r *rig, root *fakeRoot) {
		guarded(r, root)
		r.say("y")
		assert.Equal(t, change.Order{Keep: []uint64{31}}, root.orders[1])
		assert.Contains(t, r.line(-2), "kept: ")
	})
	onSudo(t, func(r *rig, root *fakeRoot) {
		guarded(r, root)
		root.reply.Error = change.ErrTooLate.Error()
		r.say("y")
		assert.Contains(t, r.line(-2)+r.line(-3), "not kept: the guard has begun to revert the change")
	})
	onSudo(t, func(r *rig, root *fakeRoot) {
		guarded(r, root)
		r.say("n")
		assert.Equal(t, change.Order{Undo: &change.UndoRequest{IDs: []uint64{31}}}, root.orders[1])
	})
	onSudo(t, func(r *rig, root *fakeRoot) {
		guarded(r, root)
		r.wait(15500 * time.Millisecond)
		assert.Len(t, root.orders, 1, "nobody is there to type a password")
		assert.Contains(t, r.line(-2), "process 4711 reverts it now")
	})
	onSudo(t, func(r *rig, root *fakeRoot) {
		guarded(r, root)
		require.NoError(t, r.m.changes.revertUnkept())
		assert.Empty(t, r.tuning.undone[1:], "left to its guard")
	})
}

// TestDangerThatRootSawFirst: the task has become busy meanwhile.
func TestDangerThatRootSawFirst(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		r.forbid(root, 31)
		made := root.reply
		root.reply = change.Reply{Needs: busyRealTime}
		r.press("p")
		r.say("y")
		require.Len(t, root.orders, 1)
		assert.Contains(t, r.text(), "nqueens is busy all the time")
		assert.NotContains(t, r.text(), "--yes")
		root.reply = made
		r.say("y")
		assert.Equal(t, change.Confirmation{Yes: true, RevertAfter: guardTime}, root.orders[1].Confirmation)
	})
}

func TestIsolateThroughSudo(t *testing.T) {
	onSudo(t, func(r *rig, root *fakeRoot) {
		p := &r.tuning.partition
		root.reply.Outcome = done(31, change.Plan{Changes: []change.Change{pinned(change.Target{TID: 3641}, attr.Planned)}})
		root.reply.Outcome.Guard = &fakeGuard{entry: 31}
		r.press("C", "4", "space", "5", "space", "I")
		assert.Contains(t, r.text(), "through sudo, which may ask for your password")
		r.say("y")
		assert.Equal(t, []change.Order{{Isolate: "4-5", Confirmation: change.Confirmation{Yes: true, RevertAfter: guardTime}}}, root.orders)
		assert.Empty(t, r.tuning.carried)
		assert.Equal(t, 1, p.settled)
		root.reply = change.Reply{}
		r.say("y")
		assert.Equal(t, []uint64{31}, root.orders[1].Keep)
		assert.Contains(t, r.line(-2)+r.line(-3), "moved off cpus 4-5")

		p.err = partition.Error("CPUs 4-5: not isolated by piton in this boot")
		r.press("i")
		assert.Contains(t, r.text(), "not isolated", "in the own journal")
		r.say("y")
		assert.Equal(t, "4-5", root.orders[2].Include)
	})
}
