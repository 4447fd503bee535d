package change_test

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

var fifo = attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10})

const always = uint64(3600e9) // more than any window: always running

func dangers(p change.Plan) []change.Danger {
	var out []change.Danger
	for _, n := range p.Needs {
		out = append(out, n.Danger)
	}
	return out
}

func TestRealTimeOnAnIdleTaskIsNoDanger(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	p := plan(t, m.Tuner(bare), changetest.One(fifo, 10))
	assert.Empty(t, p.Needs)
	assert.Empty(t, p.Warnings)
	assert.Empty(t, p.Danger())
}

func TestRealTimeOnABusyTaskNeedsConsent(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Tasks[10].Runs = always
	tuner := m.Tuner(bare)
	p := plan(t, tuner, changetest.One(fifo, 10))
	assert.Equal(t, "10 (job) is busy all the time; with FIFO:10 a busy task has its CPU for itself, and ordinary tasks there get 5 % of it", p.Danger())
	assert.Equal(t, []change.Danger{change.BusyRealTime}, dangers(p))
	assert.False(t, p.AsksFirst(), "a countdown will do")
	assert.Equal(t, []string{p.Danger()}, change.Texts(p.Preview().Warnings))

	_, err := tuner.Apply(t.Context(), p, change.Confirmation{})
	require.ErrorIs(t, err, change.ErrNeedsConfirmation)
	var asked *change.ConfirmationError
	require.ErrorAs(t, err, &asked)
	assert.Equal(t, p.Needs, asked.Needs)
	assert.Empty(t, m.Calls())
	assert.Equal(t, []string{p.Danger()}, change.Texts(applyPlan(t, tuner, p).Warnings))
	assert.Empty(t, plan(t, tuner, changetest.One(attr.SetPolicy(attr.PolicyValue{Policy: kernel.Batch}), 10)).Needs)
}

// Linux 7.2 and 7.3 set no limit by their sysctls; the fair server keeps 5 % for ordinary tasks.
func TestFairServerLeavesOrdinaryTasksTheirPart(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Tasks[10].Runs = always
	m.Sysctls["kernel/sched_rt_runtime_us"] = 1_000_000
	assert.Contains(t, plan(t, m.Tuner(bare), changetest.One(fifo, 10)).Danger(), "ordinary tasks there get nothing")
	for _, release := range []string{"6.12.117", "7.2.12", "7.3.4"} {
		m.Write("proc/sys/kernel/osrelease", release+"\n")
		assert.Contains(t, plan(t, m.Tuner(bare), changetest.One(fifo, 10)).Danger(), "ordinary tasks there get 5 % of it", release)
	}
}

// On a starved machine a spinning thread may not get to run for the whole window.
func TestRealTimeOnAQueuedTaskNeedsConsent(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Tasks[10].State = 'R'
	assert.Contains(t, plan(t, m.Tuner(bare), changetest.One(fifo, 10)).Danger(), "busy all the time")
}

func TestRealTimeOnEveryCPUAsksFirst(t *testing.T) {
	m := changetest.New(t)
	tids := []kernel.TID{10, 20, 30, 40}
	for _, tid := range tids {
		m.Spawn(tid, tid)
		m.Tasks[tid].Runs = always
	}
	tuner := m.Tuner(bare)
	p := plan(t, tuner, changetest.One(fifo, tids...))
	assert.Equal(t, []change.Danger{change.NoCPULeft, change.BusyRealTime}, dangers(p), "the gravest first")
	assert.True(t, p.AsksFirst())
	assert.Empty(t, p.Preview().Warnings[1:], "what is asked first is no warning besides")

	// Kept off one CPU by the same plan, they leave that one to others.
	kept := plan(t, tuner, changetest.Set([]attr.Setting{fifo, attr.SetAffinity(cpuset.Of(0, 1, 2))}, tids...))
	assert.Equal(t, []change.Danger{change.BusyRealTime}, dangers(kept))
	assert.Equal(t, 4, applyPlan(t, tuner, p).Count(attr.Done))
}

func TestRealTimeForPitonItselfAsksFirst(t *testing.T) {
	m := changetest.New(t)
	self := kernel.TID(os.Getpid())
	m.Spawn(self, self)
	p := plan(t, m.Tuner(bare), changetest.One(fifo, self))
	assert.Equal(t, []change.Danger{change.OwnRealTime}, dangers(p))
	assert.Contains(t, p.Danger(), "piton itself")
}

// Callers may know of dangers, too; a plan that changes nothing has none.
func TestNeedsOfCallers(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	p.Need(change.Isolation, "CPUs are taken away")
	require.ErrorIs(t, change.Confirmation{}.Check(p), change.ErrNeedsConfirmation)
	require.NoError(t, change.Confirmation{Yes: true}.Check(p))
	require.NoError(t, change.Confirmation{RevertAfter: time.Second}.Check(p))
	same := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(0, 1, 2, 3), 10))
	same.Need(change.WholeMachine, "nothing is")
	require.NoError(t, change.Confirmation{}.Check(same), "nothing is changed")
	assert.False(t, same.AsksFirst())
}

// guards are fakes of guard.Launcher and of one guard.
type guards struct {
	change.Guard
	after     time.Duration
	lines     int
	dismissed bool
	undone    []uint64
	others    []history.GuardState // that have not decided
	refuse    error                // of Arm
	late      func() bool          // it has begun to revert
}

func (g *guards) Arm(after time.Duration) (change.Guard, error) {
	g.after = after
	return g, g.refuse
}

func (g *guards) Undone(entries []uint64) (idle []uint64, err error) {
	g.undone = append(g.undone, entries...)
	return entries, nil
}

func (g *guards) List() ([]history.GuardState, error) { return g.others, nil }

func (g *guards) Tell([]byte) error {
	if g.late != nil && g.late() {
		return change.ErrTooLate
	}
	g.lines++
	return nil
}

func (g *guards) Stands() error { return g.Tell(nil) }

func (g *guards) Dismiss() error {
	g.dismissed = true
	return nil
}

func TestAGuardIsArmedBeforeAndTold(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	g := &guards{}
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: g})
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	told := 0
	m.Before("SetAffinity", 10, func() { told = g.lines })
	outcome, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: 15 * time.Second})
	require.NoError(t, err)
	assert.Equal(t, 15*time.Second, g.after)
	assert.Equal(t, []int{1, 2}, []int{told, g.lines}, "before the change, and what became of it")
	assert.Same(t, g, outcome.Guard)
	assert.Empty(t, g.undone)
	undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []uint64{1}, g.undone, "its guard has nothing to revert any more")
	assert.False(t, g.dismissed)

	_, err = tuner.Apply(t.Context(), plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(0, 1, 2, 3), 10)), change.Confirmation{RevertAfter: time.Second})
	require.NoError(t, err)
	assert.Equal(t, 15*time.Second, g.after, "nothing to guard")
}

func TestNothingIsChangedWithoutItsGuard(t *testing.T) {
	for name, o := range map[string]change.Options{"none": {}, "not to be had": {Guards: &guards{refuse: errors.New("no room")}}} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		j := changetest.Journal(t)
		o.Journal = j
		tuner := m.Tuner(o)
		p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
		_, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Second})
		require.ErrorContains(t, err, "nothing was changed", name)
		assert.Empty(t, m.Calls())
		assert.Empty(t, changetest.Entries(t, j))
	}
}

func TestAGuardOfNothingIsDismissed(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	g := &guards{}
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: g})
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	m.Before("SetAffinity", 10, func() { m.Kill(10) })
	outcome, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Second})
	require.NoError(t, err)
	assert.True(t, g.dismissed)
	assert.Nil(t, outcome.Guard)
}

// A guard that reverts already stops whoever is still at it.
func TestAGuardThatRevertsStopsTheRest(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	g := &guards{}
	g.late = func() bool { return g.lines == 1 }
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: g})
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	born := false
	m.OnList = func(kernel.TID) {
		if !born {
			born = true
			m.Spawn(10, 11)
		}
	}
	_, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Second})
	require.ErrorIs(t, err, change.ErrTooLate)
	assert.Equal(t, []string{"SetAffinity(10, 1)"}, m.Calls(), "the newborn is left alone")
}

// One that reverts before the end is recorded is told as an error: nothing stays.
func TestAGuardThatRevertsBeforeTheEnd(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	g := &guards{}
	g.late = func() bool { return g.lines == 1 }
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: g})
	outcome, err := tuner.Apply(t.Context(), plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10)), change.Confirmation{RevertAfter: time.Second})
	require.ErrorIs(t, err, change.ErrTooLate)
	assert.Nil(t, outcome.Guard, "there is nothing left to confirm")
	assert.NoError(t, outcome.Unrecorded)
}

// A guard counts nanoseconds since boot: the longest time of all would never come.
func TestATimeThatNoGuardWaits(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: &guards{}})
	for _, after := range []time.Duration{-1, math.MaxInt64} {
		var usage attr.UsageError
		_, err := tuner.Apply(t.Context(), plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10)), change.Confirmation{RevertAfter: after})
		require.ErrorAs(t, err, &usage)
	}
	assert.Empty(t, m.Calls())
}

func TestAnUndoHasNoGuard(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: &guards{}})
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{Last: 1})
	require.NoError(t, err)
	_, err = tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Second})
	var usage attr.UsageError
	require.ErrorAs(t, err, &usage)
}

// TestAGuardIsSaidToBeLateOnlyWhereItWouldBe: what it could not have is nothing to read at
// every change.
func TestAGuardIsSaidToBeLateOnlyWhereItWouldBe(t *testing.T) {
	changed := func(p attr.PolicyValue) []change.Change {
		return []change.Change{{Object: attr.Object{PID: 10, TID: 10, Comm: "rtapp"}, Attribute: attr.Policy, After: p, Status: attr.Done}}
	}
	fifo := func(prio int) []change.Change { return changed(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: prio}) }
	common := []string{"not protected from the OOM killer (needs CAP_SYS_RESOURCE): …", "memory not locked, so it may be read from a disk: …"}
	ordinary := append(common, change.CaveatNotDeadline+": …", change.CaveatOrdinary+", so late on a starved machine: …")
	limited := append(common, change.CaveatNotDeadline+": …", change.CaveatPriority+" 5 (RLIMIT_RTPRIO)")
	for _, one := range []struct {
		caveats []string
		changes []change.Change
		late    bool
	}{
		{common, fifo(99), false},
		{ordinary, fifo(1), true},
		{ordinary, changed(attr.PolicyValue{Policy: kernel.Batch}), false},
		{ordinary, []change.Change{{Attribute: attr.Affinity, Status: attr.Done}}, false},
		{limited, fifo(4), false},
		{limited, fifo(5), true},
		{append(common, change.CaveatNotDeadline+": …"), fifo(98), false},
		{append(common, change.CaveatNotDeadline+": …"), changed(attr.PolicyValue{Policy: kernel.Deadline}), true},
	} {
		why := change.GuardStatus{Caveats: one.caveats}.Fails(one.changes)
		assert.Equal(t, one.late, why != "", "%v", one)
		if one.late {
			assert.Contains(t, why, "the guard may be late, as rtapp 10 can run before it: ")
		}
	}
}
