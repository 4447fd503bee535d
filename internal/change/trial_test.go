package change_test

import (
	"context"
	"errors"
	"syscall"
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
	"piton/internal/kernel/kernelfake"
)

// tryCPUs plans a trial of CPU 1 and of CPU 2 for process 10, whose guard is g.
func tryCPUs(t *testing.T, m *changetest.Machine, g *guards, run func(set change.SetCandidate) error) (change.Outcome, error) {
	t.Helper()
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: g})
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pinTo(1, 10), pinTo(2, 10)})
	require.NoError(t, err)
	const found = "CPU 2 is no better"
	try := func(_ context.Context, set change.SetCandidate) (string, error) { return found, run(set) }
	_, err = tuner.Try(t.Context(), p, change.Confirmation{}, try)
	require.ErrorContains(t, err, "under a guard only")
	_, err = tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Minute})
	require.ErrorContains(t, err, "under a guard only")
	out, err := tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, try)
	entries, _, readErr := tuner.Entries()
	require.NoError(t, readErr)
	require.Len(t, entries, 1, "one entry, however often it was set")
	assert.Equal(t, found, entries[0].Reason)
	for _, c := range entries[0].Changes {
		assert.Empty(t, c.Tried, "it has ended")
	}
	return out, err
}

func masks(m *changetest.Machine, tids ...kernel.TID) (out []string) {
	for _, tid := range tids {
		out = append(out, m.Task(tid).Affinity.String())
	}
	return out
}

func TestTrialRestoresEachThreadsOwn(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	require.NoError(t, m.SetAffinity(11, cpuset.Of(3)))
	g := &guards{}
	var seen [][]string
	out, err := tryCPUs(t, m, g, func(set change.SetCandidate) error {
		for _, candidate := range []int{1, 2, 0, 1} {
			require.NoError(t, set(change.All(candidate)))
			seen = append(seen, masks(m, 10, 11))
		}
		assert.Error(t, set(change.All(3)), "there is none")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"1", "1"}, {"2", "2"}, {"0-3", "3"}, {"1", "1"}}, seen)
	assert.Equal(t, []string{"0-3", "3"}, masks(m, 10, 11))
	assert.False(t, out.Changed())
	assert.True(t, g.dismissed)
}

// TestTrialIsNotMadeOfWhatMayBeReverted: what a guard restores could be what is tried, and
// what the trial found is not there any more then.
func TestTrialIsNotMadeOfWhatMayBeReverted(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	g := &guards{others: []history.GuardState{{Entry: 1, Waiting: true}}}
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: g})
	apply(t, tuner, pinTo(3, 10))
	try := func(pid kernel.TID) (ran bool, out change.Outcome) {
		p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pinTo(1, pid)})
		require.NoError(t, err)
		out, err = tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, func(_ context.Context, set change.SetCandidate) (string, error) {
			ran = true
			return "", set(change.All(1))
		})
		require.NoError(t, err)
		return ran, out
	}
	ran, out := try(10)
	assert.False(t, ran)
	assert.Equal(t, change.Failed, out.Verdict())
	assert.Equal(t, "entry 1 may still be reverted; piton keep 1 keeps it, piton undo 1 reverts it now", out.Changes[0].Reason)
	ran, _ = try(20)
	assert.True(t, ran, "of another process")
	g.others = []history.GuardState{{Entry: 1, Lost: true}}
	ran, _ = try(10)
	assert.True(t, ran, "it will not be reverted")
}

// TestChangeOfWhatATrialsProcessStarted: a child has what is being tried, which is not to be found.
func TestChangeOfWhatATrialsProcessStarted(t *testing.T) {
	m := changetest.New(t)
	m.Write("proc/uptime", "10.50 1.00\n")
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j, Guards: &guards{}})
	other := m.Tuner(change.Options{Journal: j, Guards: &guards{others: []history.GuardState{{Entry: 1, Making: true}}}})
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pinTo(1, 10)})
	require.NoError(t, err)
	_, err = tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, func(_ context.Context, set change.SetCandidate) (string, error) {
		require.NoError(t, set(change.All(1)))
		m.SpawnAs(30, 30, kernelfake.Task{Affinity: cpuset.Of(1), Start: 1051})
		m.Tasks[30].PPID = 10
		bad, _ := apply(t, other, pinTo(2, 30)).FirstBad()
		assert.Equal(t, "entry 1, a search that is under way, sets it in turn; stop that first", bad.Reason)
		assert.Zero(t, apply(t, other, pinTo(2, 20)).Count(attr.Refused), "of another family")
		return "", nil
	})
	require.NoError(t, err)
}

// TestTrialThatHasLostItsGuard is undone before anything else is made of what it sets.
func TestTrialThatHasLostItsGuard(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	o := change.Options{Journal: changetest.Journal(t), Guards: &guards{}}
	tuner := m.Tuner(o)
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pinTo(1, 10)})
	require.NoError(t, err)
	_, err = tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, func(_ context.Context, set change.SetCandidate) (string, error) {
		require.NoError(t, set(change.All(1)))
		o.Guards = &guards{others: []history.GuardState{{Entry: 1}}}
		out := apply(t, m.Tuner(o), pinTo(2, 10))
		assert.Equal(t, "entry 1, a search, is being reverted; run the command again", out.Changes[0].Reason)
		o.Guards = &guards{others: []history.GuardState{{Entry: 1, Lost: true}}}
		out = apply(t, m.Tuner(o), pinTo(2, 10))
		assert.Equal(t, "entry 1 is a search that has lost its guard; piton undo 1 first", out.Changes[0].Reason)
		undo(t, m.Tuner(o), change.UndoRequest{IDs: []uint64{1}})
		assert.Equal(t, []string{"0-3"}, masks(m, 10))
		assert.Equal(t, 1, apply(t, m.Tuner(o), pinTo(2, 10)).Count(attr.Done))
		return "", nil
	})
	require.NoError(t, err)
}

func TestTrialRestoresAfterAnError(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	failed := errors.New("the search failed")
	_, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		return failed
	})
	assert.ErrorIs(t, err, failed)
	assert.Equal(t, []string{"0-3"}, masks(m, 10))
}

func TestTrialEndsWhenSomebodyElseSetsIt(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	out, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		require.NoError(t, m.SetAffinity(10, cpuset.Of(0, 3)))
		return set(change.All(1))
	})
	assert.ErrorIs(t, err, change.ErrOvertaken)
	assert.Equal(t, []string{"0,3"}, masks(m, 10), "it is left alone")
	assert.Contains(t, out.Changes[0].Reason, "changed by someone else")
}

func TestTrialTakesNewbornsAlong(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	_, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		m.Spawn(10, 12)
		require.NoError(t, m.SetAffinity(12, cpuset.Of(2)), "inherited")
		m.Spawn(10, 13)
		require.NoError(t, m.SetAffinity(13, cpuset.Of(0)), "its own")
		require.NoError(t, set(change.All(1)))
		assert.Equal(t, []string{"1", "1", "0"}, masks(m, 10, 12, 13))
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"0-3", "0-3", "0"}, masks(m, 10, 12, 13))
}

// TestTrialRestoresWhatNewbornsMake: they may be given what no older thread was.
func TestTrialRestoresWhatNewbornsMake(t *testing.T) {
	m := changetest.New(t)
	m.Write("proc/uptime", "20.00 1.00\n")
	m.Spawn(10, 10)
	_, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		m.SpawnAs(10, 12, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Start: 3000})
		require.NoError(t, set(func(tid kernel.TID) int { return int(tid) - 10 }))
		m.SpawnAs(10, 13, kernelfake.Task{Affinity: cpuset.Of(2), Start: 4000})
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"0-3", "0-3", "0-3"}, masks(m, 10, 12, 13))
}

func TestTrialLeavesTheNextThreadWithANumberAlone(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	_, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		m.Replace(10, 11, "job")
		require.NoError(t, m.SetAffinity(11, cpuset.Of(0)), "its own")
		return set(change.All(1))
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"0-3", "0"}, masks(m, 10, 11))
}

// TestRevertOfATrialCutByACpuset: a guard does not ask for the cpuset, which may wait for a
// task that gets no CPU.
func TestRevertOfATrialCutByACpuset(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Start: 3000})
	leader := attr.Object{PID: 10, TID: 10, StartTicks: 1010}
	all := cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7)
	e := change.Entry{ID: 1, Ticks: 2000, Changes: []change.Change{{
		Object: leader, Attribute: attr.Affinity, Before: cpuset.Of(0, 1), After: all, Tried: []attr.Value{all}, Status: attr.Planned,
	}}}
	_, _, err := m.Tuner(bare).Revert(t.Context(), e, map[attr.Key]bool{}, func() bool { return false })
	require.NoError(t, err)
	assert.Equal(t, []string{"0-1", "0-1"}, masks(m, 10, 11))
}

// TestGuardKnowsWhatACpusetLeavesOfATrial: also of what is not in force any more.
func TestGuardKnowsWhatACpusetLeavesOfATrial(t *testing.T) {
	m := changetest.New(t)
	m.Write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1\n")
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: &guards{}})
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pin(change.ScopeProcess, cpuset.Of(1, 2), 10), pinTo(0, 10)})
	require.NoError(t, err)
	_, err = tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, func(_ context.Context, set change.SetCandidate) (string, error) {
		require.NoError(t, set(change.All(1)))
		m.SpawnAs(20, 20, kernelfake.Task{Affinity: m.Task(10).Affinity, Start: 3000})
		m.Tasks[20].PPID = 10
		require.NoError(t, set(change.All(2)))
		entries, _, err := tuner.Entries()
		require.NoError(t, err)
		_, _, err = m.Tuner(bare).Revert(t.Context(), entries[0], map[attr.Key]bool{}, func() bool { return false })
		require.NoError(t, err)
		assert.Equal(t, []string{"0-1", "0-1"}, masks(m, 10, 20))
		return "", nil
	})
	require.NoError(t, err)
}

// TestTrialThatCannotReadBack: what a cpuset has left of what was set is from the trial itself.
func TestTrialThatCannotReadBack(t *testing.T) {
	h := &hooked{Machine: changetest.New(t)}
	h.Write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1\n")
	h.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
	tuner := h.tuner(change.Options{Journal: changetest.Journal(t), Guards: &guards{}})
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pin(change.ScopeProcess, cpuset.Of(1, 2), 10)})
	require.NoError(t, err)
	_, err = tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, func(_ context.Context, set change.SetCandidate) (string, error) {
		h.Before("SetAffinity", 10, func() {
			h.affinity = map[kernel.TID]func() error{10: func() error { return syscall.EINVAL }}
		})
		return "", set(change.All(1))
	})
	require.ErrorIs(t, err, syscall.EINVAL)
	assert.Equal(t, []string{"0-1"}, masks(h.Machine, 10))
}

// TestTrialThatCannotLookForChildren can be undone.
func TestTrialThatCannotLookForChildren(t *testing.T) {
	h := &hooked{Machine: changetest.New(t)}
	h.Spawn(10, 10)
	tuner := h.tuner(change.Options{Journal: changetest.Journal(t), Guards: &guards{}})
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{pinTo(1, 10)})
	require.NoError(t, err)
	out, err := tuner.Try(t.Context(), p, change.Confirmation{RevertAfter: time.Minute}, func(_ context.Context, set change.SetCandidate) (string, error) {
		require.NoError(t, set(change.All(1)))
		h.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(1), Start: 3000})
		h.Tasks[20].PPID = 10
		h.unlisted = syscall.EMFILE
		return "", nil
	})
	require.NoError(t, err)
	assert.True(t, out.Unsettled)
	h.unlisted = nil
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0-3"}, masks(h.Machine, 10, 20))
}

func TestTrialStopsWhenItsGuardReverts(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	g := &guards{}
	_, err := tryCPUs(t, m, g, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		g.late = func() bool { return true }
		return set(change.All(1))
	})
	assert.ErrorIs(t, err, change.ErrTooLate)
	assert.Equal(t, []string{"0-3"}, masks(m, 10))
}

func TestTrialOfWhatEnds(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	_, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		m.Kill(10)
		return set(change.All(1))
	})
	assert.ErrorIs(t, err, attr.ErrGone)
}

// restless makes a task give itself another mask whenever its mask is read.
func restless(m *changetest.Machine, tid kernel.TID, masks ...cpuset.Set) {
	m.Fake.Before("Affinity", tid, func() {
		_ = m.SetAffinity(tid, masks[0])
		restless(m, tid, append(masks[1:len(masks):len(masks)], masks[0])...)
	})
}

func TestATaskThatSetsItsOwnAffinityIsSaidTo(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	changes := []change.Change{{Object: attr.Object{PID: 10, TID: 10, Comm: "bouncer"}, Attribute: attr.Affinity}}
	assert.Empty(t, m.Tuner(change.Options{}).SetsItself(changes))
	out, err := tryCPUs(t, m, &guards{}, func(set change.SetCandidate) error {
		require.NoError(t, set(change.All(2)))
		restless(m, 10, cpuset.Of(0, 3), cpuset.Of(1, 3))
		return set(change.All(1))
	})
	assert.ErrorIs(t, err, change.ErrOvertaken)
	assert.Contains(t, err.Error(), "sets its own affinity, at least 9")
	assert.Contains(t, out.Changes[0].Reason, "sets its own affinity")
	assert.Contains(t, m.Tuner(change.Options{}).SetsItself(changes), "bouncer sets its own affinity, at least 9")
}
