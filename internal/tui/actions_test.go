package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
)

func TestPinDoesItAndSaysWhichAndWhy(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("p")
		require.Len(t, r.tuning.carried, 1)
		assert.Equal(t, place.LeastLoaded, r.tuning.want.Strategy)
		assert.Equal(t, kernel.TID(3641), r.tuning.targets[0].TID)
		assert.Equal(t, change.ScopeProcess, r.tuning.targets[0].Scope)
		assert.Equal(t, uint64(36410), r.tuning.targets[0].StartTicks, "the start time guards against reuse of the number")
		assert.Contains(t, r.line(-3), "nqueens (3641) → CPU 5 (was 0-7): cpu 5: 99 % of a CPU expected")
		assert.Contains(t, r.line(-2), "≡ piton pin 3641 --cpu 5   z undo  y copy")
		r.press("y")
		assert.Contains(t, r.line(-2), "copied: piton pin 3641 --cpu 5")
		assert.Positive(t, r.sampler.refreshed)
		r.wait(10 * time.Second)
		assert.NotContains(t, r.line(-2), "piton pin", "the message goes away by itself")
	})
}

func TestActionAppliesToTheTaskUnderTheCursorAtTheKey(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("down")
		cmd := r.m.perform(mustSpec(t, "tune.pin"), "p") // planned, not yet carried out
		r.machine.Proc(3642).Busy = 0
		r.tick()
		r.press("home")
		r.run(cmd)
		assert.Equal(t, kernel.TID(3642), r.tuning.targets[0].TID)
	})
}

func TestThreadRowMeansThatThread(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.machine.Thread(3650, 3642, "matrix-2")
		r.press("H")
		assert.True(t, r.sampler.needs.Threads)
		r.tick()
		r.press("/", "3", "6", "5", "0", "enter")
		assert.Equal(t, kernel.TID(3650), r.selected())
		r.press("p")
		assert.Equal(t, change.ScopeThread, r.tuning.targets[0].Scope)
	})
}

func TestTaggedRowsAreChangedAtOnce(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("space", "space", "p")
		assert.Len(t, r.tuning.carried, 1, "z undoes it")
		assert.Contains(t, r.line(-3), "2 processes → CPU 5 (was 0-7)")
		assert.Contains(t, r.line(-2), "≡ piton pin 3641 3642 --cpu 5")
	})
}

func TestWhatTouchesMoreThanTheRowsAsksFirst(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, _ *fakePartition) {
		r.press("C", "I")
		r.press("y") // too early: it may have been meant for something else
		assert.Empty(t, r.tuning.carried)
		r.wait(time.Second)
		r.press("n")
		assert.Empty(t, r.tuning.carried)
		assert.Contains(t, r.line(-2), "nothing was changed")
	})
}

func TestWarningIsAskedAbout(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.warnings = []change.Warning{{Kind: attr.OneWay, Text: "entering SCHED_IDLE cannot be undone"}}
		r.press("p")
		assert.Empty(t, r.tuning.carried)
		assert.Contains(t, r.text(), "cannot be undone")
	})
}

func TestRefusalSaysWhy(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status, r.tuning.reason = attr.Refused, "migration/0 is a kernel thread that belongs to its CPU"
		r.press("p")
		assert.Contains(t, r.line(-2), "belongs to its CPU")
		assert.Empty(t, r.tuning.carried)
	})
}

func TestLongMessageIsWrapped(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status, r.tuning.reason = attr.Refused, strings.Repeat("because it is so ", 10)+"in the end"
		r.press("p")
		assert.Contains(t, r.line(-3), "because")
		assert.Contains(t, r.line(-2), "in the end")
		r.press("down")
		assert.NotContains(t, r.line(-3), "because", "a key takes it away")
	})
}

func TestUnchangedIsSaid(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status = attr.Unchanged
		r.press("p")
		assert.Contains(t, r.line(-2), "is 5 already")
	})
}

func TestNiceStepsAddUpWhileOneIsUnderWay(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("f8")
		assert.Equal(t, 1, r.tuning.want.NiceBy)
		r.press("[", "[", "f7", "[")
		assert.Equal(t, 1, r.tuning.plans, "the next step waits for what the kernel says now")
		r.tickRun()
		assert.Equal(t, 2, r.tuning.plans)
		assert.Equal(t, 2, r.tuning.want.NiceBy)
		r.tickRun()
		assert.Equal(t, 2, r.tuning.plans)
	})
}

func TestNiceWarningDoesNotAskUnlessThereIsNoWayBack(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.warnings = []change.Warning{change.Note("autogroup is on")}
		r.press("f8")
		assert.Len(t, r.tuning.carried, 1)
		assert.Contains(t, r.line(-3), "autogroup is on")
		r.tickRun()
		r.tuning.warnings = []change.Warning{{Kind: attr.OneWay, Text: "raising nice cannot be undone without CAP_SYS_NICE"}}
		r.press("f8")
		assert.Len(t, r.tuning.carried, 1)
		r.wait(time.Second)
		r.press("n")
		r.tuning.warnings = nil
		r.press("f8")
		assert.Len(t, r.tuning.carried, 2, "a declined step does not block the next")
	})
}

func TestUndo(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("z")
		assert.Contains(t, r.line(-2), "there is nothing to undo")
		r.tuning.canUndo = true
		r.press("p", "z")
		assert.Contains(t, r.tuning.undone, change.UndoRequest{IDs: []uint64{7}})
		assert.Len(t, r.tuning.carried, 2)
		assert.Contains(t, r.line(-2), "undo: nqueens (3641) → CPUs 0-7 (was 5)")
	})
}

func TestAffinityEditor(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("a")
		assert.Contains(t, r.text(), "Affinity of nqueens (3641)")
		r.press("n", "l", "2", "-", "3", "enter", "enter")
		require.Len(t, r.tuning.carried, 1)
		assert.Equal(t, []attr.Setting{attr.SetAffinity(cpuset.Of(2, 3))}, r.tuning.want.Set)
	})
}

func TestPlaceMenu(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("o", "s", "p", "r")
		assert.Contains(t, r.text(), "next cpu 7 (96 %)", "it says what it would choose and why")
		r.press("enter")
		assert.Len(t, r.tuning.carried, 1)
		assert.Equal(t, place.Spread, r.tuning.want.Strategy)
	})
}

func TestIOPriority(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("i", "i", "d", "enter")
		assert.Equal(t, []attr.Setting{attr.SetIOPrio(kernel.IOPrio{Class: kernel.IOIdle})}, r.tuning.want.Set)
	})
}

func TestSignal(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("k", "enter")
		require.Len(t, r.tuning.signals, 1)
		assert.Equal(t, kernel.TID(3641), r.tuning.signals[0].TID)
		assert.Contains(t, r.line(-2), "signal 15 (terminated) sent to 1")
		r.press("space", "space", "f9", "enter")
		assert.Len(t, r.tuning.signals, 1, "several ask first")
		r.press("y")
		assert.Len(t, r.tuning.signals, 3)
	})
}

func TestReadOnlyChangesNothing(t *testing.T) {
	onSmall(t, func(r *rig) {
		for _, key := range []string{"p", "a", "o", "f7", "f8", "Y", "i", "k", "z"} {
			r.press(key)
			assert.Contains(t, r.line(-2), "read-only", key)
		}
		assert.Zero(t, r.tuning.plans)
	}, func(d *Deps) { d.ReadOnly = true })
}

func TestGroupsHaveNoDetail(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("t", "t", "home")
		for _, key := range []string{"enter", "e", "s", "l"} {
			r.press(key)
			assert.Contains(t, r.line(-2), "this row is a control group", key)
		}
	})
}
