package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/tune"
)

func TestPinDoesItAndSaysWhichAndWhy(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("p")
		require.Len(t, r.tuning.applied, 1)
		assert.Equal(t, place.LeastLoaded, r.tuning.want.Strategy)
		assert.Equal(t, kernel.TID(3641), r.tuning.targets[0].TID)
		assert.Equal(t, tune.ScopeProcess, r.tuning.targets[0].Scope)
		assert.Equal(t, uint64(36410), r.tuning.targets[0].StartTicks, "the start time guards against reuse of the number")
		assert.Contains(t, r.line(-2), "0-7 → 5: cpu 5: 99 % of a CPU expected")
		assert.Positive(t, r.sampler.refreshed)
		r.wait(10 * time.Second)
		assert.NotContains(t, r.line(-2), "0-7 → 5", "the message goes away by itself")
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
		r.press("3", "6", "5", "0")
		assert.Equal(t, kernel.TID(3650), r.selected())
		r.press("p")
		assert.Equal(t, tune.ScopeThread, r.tuning.targets[0].Scope)
	})
}

func TestWideChangeAsksFirst(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("space", "space", "p")
		assert.Empty(t, r.tuning.applied)
		assert.Contains(t, r.text(), "set affinity of 2 processes: 0-7 → 5")
		r.press("y") // too early: it may have been meant for something else
		assert.Empty(t, r.tuning.applied)
		r.wait(time.Second)
		r.press("y")
		assert.Len(t, r.tuning.applied, 1)
	})
}

func TestWideChangeCanBeDeclined(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("space", "space", "p")
		r.wait(time.Second)
		r.press("n")
		assert.Empty(t, r.tuning.applied)
		assert.Contains(t, r.line(-2), "nothing was changed")
	})
}

func TestWarningIsAskedAbout(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.warnings = []string{"entering SCHED_IDLE is one-way"}
		r.press("p")
		assert.Empty(t, r.tuning.applied)
		assert.Contains(t, r.text(), "one-way")
	})
}

func TestRefusalSaysWhy(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status, r.tuning.reason = tune.Refused, "migration/0 is a kernel thread that belongs to its CPU"
		r.press("p")
		assert.Contains(t, r.line(-2), "belongs to its CPU")
		assert.Empty(t, r.tuning.applied)
	})
}

func TestLongMessageIsWrapped(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status, r.tuning.reason = tune.Refused, strings.Repeat("because it is so ", 10)+"in the end"
		r.press("p")
		assert.Contains(t, r.line(-3), "because")
		assert.Contains(t, r.line(-2), "in the end")
		r.press("down")
		assert.NotContains(t, r.line(-3), "because", "a key takes it away")
	})
}

func TestUnchangedIsSaid(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status = tune.Unchanged
		r.press("p")
		assert.Contains(t, r.line(-2), "is 5 already")
	})
}

func TestNiceStepsAddUpWhileOneIsUnderWay(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("f8")
		assert.Equal(t, 1, r.tuning.want.NiceBy)
		r.press("]", "]", "f7", "]")
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
		r.tuning.warnings = []string{"autogroup is on"}
		r.press("f8")
		assert.Len(t, r.tuning.applied, 1)
		assert.Contains(t, r.line(-2), "autogroup is on")
		r.tickRun()
		r.tuning.warnings = []string{"raising nice is one-way without CAP_SYS_NICE"}
		r.press("f8")
		assert.Len(t, r.tuning.applied, 1)
		r.wait(time.Second)
		r.press("n")
		r.tuning.warnings = nil
		r.press("f8")
		assert.Len(t, r.tuning.applied, 2, "a declined step does not block the next")
	})
}

func TestUndo(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("z")
		assert.Contains(t, r.line(-2), "there is nothing to undo")
		r.tuning.canUndo = true
		r.press("p", "z")
		assert.Equal(t, tune.UndoRequest{Last: 1}, r.tuning.undone[len(r.tuning.undone)-1])
		assert.Len(t, r.tuning.applied, 2)
		assert.Contains(t, r.line(-2), "undo: affinity of nqueens (3641) 5 → 0-7")
	})
}

func TestTrialIsTakenBackWithoutAnAnswer(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		r.tuning.trial = "nqueens is busy all the time"
		r.tuning.warnings = []string{r.tuning.trial}
		r.press("Y", "f", "enter")
		require.Len(t, r.tuning.applied, 1, "a trial is done at once")
		assert.Equal(t, kernel.FIFO, r.tuning.want.Policy.Policy)
		assert.Contains(t, r.text(), "Keep it?")
		r.wait(20 * time.Second)
		require.Len(t, r.tuning.applied, 2)
		assert.Equal(t, []uint64{7}, r.tuning.undone[len(r.tuning.undone)-2].IDs)
		assert.Contains(t, r.text(), "take back")
	})
}

func TestTrialIsTakenBackWhenTheProgramEnds(t *testing.T) {
	onSmall(t, func(r *rig) {
		require.NoError(t, r.m.endTrial(), "nothing is on trial")
		r.tuning.canUndo = true
		r.tuning.trial = "nqueens is busy all the time"
		r.press("Y", "f", "enter")
		require.NoError(t, r.m.endTrial())
		assert.Len(t, r.tuning.applied, 2)
		require.NoError(t, r.m.endTrial())
		assert.Len(t, r.tuning.applied, 2)
	})
}

func TestTrialIsKept(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.trial = "nqueens is busy all the time"
		r.press("Y", "f", "enter")
		r.wait(time.Second)
		r.press("y")
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.applied, 1)
	})
}

func TestAffinityEditor(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("a")
		assert.Contains(t, r.text(), "Affinity of nqueens (3641)")
		r.press("n", "l", "2", "-", "3", "enter", "enter")
		require.Len(t, r.tuning.applied, 1)
		assert.Equal(t, "2-3", r.tuning.want.CPUs.String())
	})
}

func TestPlaceMenu(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("o", "s", "p", "r")
		assert.Contains(t, r.text(), "next cpu 7 (96 %)", "it says what it would choose and why")
		r.press("enter")
		assert.Empty(t, r.tuning.applied, "and shows the plan first")
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, place.Spread, r.tuning.want.Strategy)
	})
}

func TestIOPriority(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("i", "i", "d", "enter")
		require.NotNil(t, r.tuning.want.IOPrio)
		assert.Equal(t, kernel.IOIdle, r.tuning.want.IOPrio.Class)
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

func TestMissingRightsOfferSudo(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status, r.tuning.reason, r.tuning.err = tune.Refused, "needs CAP_SYS_NICE", tune.ErrNotPermitted
		r.press("p")
		assert.Contains(t, r.text(), "sudo /usr/bin/piton pin --process --cpu 5 -- 3641")
		r.wait(time.Second)
		r.press("y")
		require.Len(t, r.execs, 1)
		assert.Equal(t, []string{"sudo", "/usr/bin/piton", "pin", "--process", "--cpu", "5", "--", "3641"}, r.execs[0].Args)
		assert.Contains(t, r.line(-2), "done through sudo")
	}, func(d *Deps) { d.Sudo, d.Self = "sudo", "/usr/bin/piton" })
}

func TestMissingRightsWithoutSudo(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.status, r.tuning.reason, r.tuning.err = tune.Refused, "needs CAP_SYS_NICE", errors.Join(tune.ErrNotPermitted)
		r.press("p")
		assert.Contains(t, r.line(-2), "needs CAP_SYS_NICE")
	})
}

func TestReadOnlyChangesNothing(t *testing.T) {
	onSmall(t, func(r *rig) {
		for _, key := range []string{"p", "a", "o", "f7", "f8", "Y", "i", "k", "z"} {
			r.press(key)
			assert.Contains(t, r.line(-2), "changes nothing", key)
		}
		assert.Zero(t, r.tuning.plans)
	}, func(d *Deps) { d.ReadOnly = true })
}

func TestSudoCommandsSpellEverySetting(t *testing.T) {
	nice, fifo, io := -5, tune.PolicySetting{Policy: kernel.FIFO, RTPrio: 10, ResetOnFork: true}, kernel.IOPrio{Class: kernel.IOIdle}
	args := settingArgs(tune.Settings{Nice: &nice, Policy: &fifo, IOPrio: &io})
	assert.Equal(t, []verbArgs{{"nice", nil, []string{"-5"}}, {"policy", nil, []string{"fifo:10,reset-on-fork"}},
		{"ionice", nil, []string{"idle"}}}, args)
}
