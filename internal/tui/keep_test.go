package tui

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/change/journal"
)

var busyRealTime = []change.Need{{Danger: change.BusyRealTime, Text: "nqueens is busy all the time"}}

// onDanger runs a test in which every change is dangerous.
func onDanger(t *testing.T, f func(r *rig), options ...rigOption) {
	onSmall(t, func(r *rig) {
		r.tuning.canUndo, r.tuning.needs = true, busyRealTime
		f(r)
	}, options...)
}

func TestDangerIsCarriedUnderGuardAndKept(t *testing.T) {
	onDanger(t, func(r *rig) {
		r.press("Y", "f", "enter")
		require.Len(t, r.tuning.carried, 1, "at once: it is asked about afterwards")
		assert.Equal(t, "FIFO:10", r.tuning.want.Set[0].Value.String())
		assert.Equal(t, []change.Confirmation{{RevertAfter: guardTime}}, r.tuning.confirmations)
		assert.Greater(t, guardTime, keepTime, "the screen has the first word")
		for _, words := range []string{"Keep it?", "nqueens is busy all the time", "Process 4711 reverts it."} {
			assert.Contains(t, r.text(), words)
		}
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, 1, r.tuning.guards[0].kept)
		assert.Contains(t, r.text(), "kept: ")
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.carried, 1)
	})
}

func TestDangerThatAsksFirst(t *testing.T) {
	onDanger(t, func(r *rig) {
		r.tuning.needs = []change.Need{{Danger: change.OwnRealTime, Text: "piton itself would be real-time"}}
		r.press("p")
		assert.Empty(t, r.tuning.carried)
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, []change.Confirmation{{Yes: true, RevertAfter: guardTime}}, r.tuning.confirmations)
		assert.Contains(t, r.text(), "Keep it?")
	})
}

func TestNoAnswerReverts(t *testing.T) {
	onDanger(t, func(r *rig) {
		r.press("space", "space", "p")
		r.wait(20 * time.Second)
		require.Len(t, r.tuning.carried, 2)
		assert.Equal(t, []uint64{7}, r.tuning.carried[1].Undoes)
		assert.Contains(t, r.text(), "revert: nqueens (3641) → CPUs 0-7 (was 5)")
		assert.Empty(t, r.m.changes.made)
	})
}

func TestGuardWasFaster(t *testing.T) {
	onDanger(t, func(r *rig) {
		r.press("p")
		r.tuning.backAlready = true
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.carried, 1)
		assert.Contains(t, r.text(), "revert: affinity of nqueens (3641) is 0-7 already")
	})
	onDanger(t, func(r *rig) {
		r.press("p")
		r.tuning.guards[0].err = change.ErrTooLate
		r.wait(time.Second)
		r.press("y")
		assert.Contains(t, r.text(), "not kept: the guard has begun to revert the change")
	})
}

func TestRevertOfWhatSomebodyElseHasChanged(t *testing.T) {
	onDanger(t, func(r *rig) {
		r.press("p")
		r.tuning.drifted = true
		r.wait(20 * time.Second)
		assert.Contains(t, r.text(), "somebody else has changed it since")
	})
}

func TestErrorHalfWay(t *testing.T) {
	onDanger(t, func(r *rig) {
		r.tuning.applyErr = errors.New("the disk is full")
		r.press("p")
		assert.Contains(t, r.text(), "pin: the disk is full; what was done is reverted in 16s")
		assert.NotContains(t, r.text(), "Keep it?")
	})
}

func TestTheEndRevertsWhatWasNotKept(t *testing.T) {
	onDanger(t, func(r *rig) {
		require.NoError(t, r.m.changes.revertUnkept())
		assert.Empty(t, r.tuning.carried)
		r.press("p")
		r.wait(time.Second)
		require.NoError(t, r.m.changes.revertUnkept())
		require.NoError(t, r.m.changes.revertUnkept())
		require.Len(t, r.tuning.carried, 2)
		assert.Equal(t, []uint64{7}, r.tuning.carried[1].Undoes)
	})
}

// dangerous delivers a change of its own guard, as one that was on its way when
// another was asked about.
func (r *rig) dangerous(entry uint64) *fakeGuard {
	g := &fakeGuard{entry: entry}
	p := change.Plan{Needs: busyRealTime, Changes: []change.Change{pinned(change.Target{TID: 3641}, "")}}
	o := done(entry, p)
	o.Guard = g
	r.outcome("pin", change.Order{}, p, o)
	return g
}

// outcome delivers what became of a plan.
func (r *rig) outcome(what string, order change.Order, p change.Plan, o change.Outcome) {
	q := ordered(what, "", order)
	q.Plan = p
	r.send(func() tea.Cmd { return r.m.changes.takeOutcome(result{request: q, outcome: o}) })
}

func TestTwoChangesToKeep(t *testing.T) {
	onDanger(t, func(r *rig) {
		older, newer := r.dangerous(1), r.dangerous(2)
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, 1, newer.kept)
		r.wait(20 * time.Second)
		assert.Zero(t, older.kept)
		assert.Equal(t, []uint64{1}, r.tuning.carried[0].Undoes)
	})
	onDanger(t, func(r *rig) {
		r.dangerous(1)
		r.dangerous(2)
		require.NoError(t, r.m.changes.revertUnkept())
		assert.Equal(t, []uint64{1, 2}, r.tuning.carried[0].Undoes)
	})
}

func TestUndoOfThisSession(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		undone := func() (ids []uint64) {
			for _, p := range r.tuning.carried {
				ids = append(ids, p.Undoes...)
			}
			return ids
		}
		r.press("p", "p", "z", "z")
		assert.Equal(t, []uint64{8, 7}, undone(), "the newest first, and none twice")
		assert.Empty(t, r.m.changes.made)
		r.tuning.undone = nil
		r.press("z")
		assert.Equal(t, change.UndoRequest{Last: 1}, r.tuning.undone[0], "then what was made before")

		r.press("p")
		r.tuning.drifted = true
		r.press("z")
		assert.Contains(t, r.line(-2), "somebody else has changed it since")
		assert.Empty(t, r.m.changes.made, "the next undo is not about it again")
	})
}

func TestQuitWaitsForTheChange(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.slow = 2 * time.Second
		r.press("p", "q")
		assert.False(t, r.Quit)
		assert.Contains(t, r.line(-2), "finishing the change")
		r.wait(3 * time.Second)
		assert.True(t, r.Quit)
		assert.Len(t, r.tuning.carried, 1)
		assert.NoError(t, r.m.changes.finish())
	})
}

func TestQuitDoesNotWaitForEver(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.slow = 10 * time.Second
		r.press("p", "q")
		r.wait(4 * time.Second)
		assert.False(t, r.Quit)
		r.wait(2 * time.Second)
		assert.True(t, r.Quit)
		assert.ErrorContains(t, r.m.changes.finish(), "still under way")
	})
}

// TestSignalWaitsForTheChange ends the screen without a key, as SIGTERM does.
func TestSignalWaitsForTheChange(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.slow = 2 * time.Second
		r.press("p")
		start := time.Now()
		assert.NoError(t, r.m.changes.finish())
		assert.Equal(t, 2*time.Second, time.Since(start))
		assert.Len(t, r.tuning.carried, 1)
		later := r.m.changes.applyPlan(request{})
		go later()
		r.wait(10 * time.Second)
		assert.Len(t, r.tuning.carried, 1, "nothing begins after the end")
		<-r.m.changes.gate
	})
}

// kept is a journal in memory.
type kept []change.Entry

func (k kept) Entries() ([]change.Entry, []journal.Damage, error) { return k, nil, nil }

// TestRevertThatFailedIsSaid when its guard has ended.
func TestRevertThatFailedIsSaid(t *testing.T) {
	made := change.Entry{ID: 7, Finished: true, Changes: []change.Change{{Object: attr.Object{PID: 10, TID: 10}, Attribute: attr.Nice,
		Before: attr.NiceValue(0), After: attr.NiceValue(15), Status: attr.Done}}}
	revert := change.Entry{ID: 8, Finished: true, Undoes: []uint64{7}, Origin: journal.Origin{Kind: journal.ByGuard},
		Changes: slices.Clone(made.Changes)}
	revert.Changes[0].Status, revert.Changes[0].Err = attr.Failed, attr.NotPermitted(syscall.EACCES)
	states := []history.GuardState{{Entry: 7, Left: time.Second, PID: 4711}}
	onDanger(t, func(r *rig) {
		r.run(r.m.changes.lookAtGuards())
		assert.NotContains(t, r.line(-2), "revert failed")
		states = nil
		r.run(r.m.changes.tick())
		assert.Contains(t, r.line(-2), "entry 7: revert failed: needs CAP_SYS_NICE")
		r.press("5")
		assert.Contains(t, r.text(), "revert failed: needs CAP_SYS_NICE")
	}, func(d *Deps) {
		d.Guards = func() []history.GuardState { return states }
		d.Journal = kept{made, revert}
	})
}

func TestGuardsAreWatched(t *testing.T) {
	var states []history.GuardState
	reads := 0
	onDanger(t, func(r *rig) {
		r.run(r.m.changes.tick())
		assert.Zero(t, reads, "nothing is guarded")
		r.press("p")
		states = []history.GuardState{{Entry: 7, Left: 15 * time.Second, PID: 4711}}
		reads = 0
		r.run(r.m.changes.tick())
		assert.Equal(t, 1, reads)
		r.wait(time.Second)
		r.press("y")
		states = []history.GuardState{{Entry: 12, Lost: true}}
		r.run(r.m.changes.tick())
		assert.Contains(t, r.line(0), states[0].Words())
		assert.Contains(t, r.line(-2), "guard lost: entry 12")
		r.press("z")
		assert.Equal(t, []uint64{12}, r.tuning.carried[len(r.tuning.carried)-1].Undoes)
		states = []history.GuardState{{Entry: 13, Stopped: true, PID: 4711}}
		r.run(r.m.changes.tick())
		assert.Contains(t, r.line(0), "guard stopped: entry 13")
		states = nil
		r.run(r.m.changes.tick())
		assert.NotContains(t, r.line(0), "guard")
		reads = 0
		r.run(r.m.changes.tick())
		assert.Zero(t, reads)
	}, func(d *Deps) { d.Guards = func() []history.GuardState { reads++; return states } })
}
