package change_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
)

// These are used in most tests.
var (
	pin       = changetest.Pin
	apply     = changetest.Apply
	plan      = changetest.Plan
	applyPlan = changetest.ApplyPlan
	undo      = changetest.Undo
	brief     = changetest.Brief
)

// bare is of a Tuner with all rights and without a journal.
var bare change.Options

func TestApplyPinsEveryThread(t *testing.T) {
	m := changetest.New(t)
	for tid := kernel.TID(10); tid < 13; tid++ {
		m.Spawn(10, tid)
	}
	m.Spawn(20, 20)
	outcome := apply(t, m.Tuner(bare), pin(change.ScopeProcess, cpuset.Of(2), 11))
	assert.Equal(t, []string{"SetAffinity(10, 2)", "SetAffinity(11, 2)", "SetAffinity(12, 2)"}, m.Calls())
	assert.Equal(t, 3, outcome.Count(attr.Done))
	assert.Equal(t, 2, outcome.Passes)
	assert.Equal(t, "0-3", m.Task(20).Affinity.String())
	assert.Equal(t, change.AllDone, outcome.Verdict())
}

func TestApplyThreadScope(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	outcome := apply(t, m.Tuner(bare), pin(change.ScopeThread, cpuset.Of(2), 11))
	assert.Equal(t, []string{"SetAffinity(11, 2)"}, m.Calls())
	assert.Equal(t, kernel.TID(10), outcome.Changes[0].PID)
}

func TestApplyTree(t *testing.T) {
	m := changetest.New(t)
	for _, tid := range []kernel.TID{10, 20, 30, 40} {
		m.Spawn(tid, tid)
	}
	m.Tasks[20].PPID = 10
	m.Tasks[40].PPID = 20
	apply(t, m.Tuner(bare), pin(change.ScopeTree, cpuset.Of(2), 10))
	assert.Equal(t, []string{"SetAffinity(10, 2)", "SetAffinity(20, 2)", "SetAffinity(40, 2)"}, m.Calls())
}

func TestApplySkipsWhatIsEqual(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	outcome := apply(t, m.Tuner(bare), pin(change.ScopeProcess, cpuset.Of(0, 1, 2, 3), 10))
	assert.Empty(t, m.Calls())
	assert.Equal(t, 1, outcome.Count(attr.Unchanged))
}

func TestApplyOneFailureHidesNoOther(t *testing.T) {
	m := changetest.New(t)
	for tid := kernel.TID(10); tid < 13; tid++ {
		m.Spawn(tid, tid)
	}
	m.Fail("SetAffinity", 11, syscall.EPERM)
	o := change.Options{Sources: attr.Sources{Rights: changetest.NoRights}}
	outcome := apply(t, m.Tuner(o), pin(change.ScopeProcess, cpuset.Of(2), 10, 11, 12, 99))
	assert.Equal(t, []string{
		"affinity 0-3 to 2: done", "affinity 0-3 to 2: failed", "affinity 0-3 to 2: done", "affinity  to 2: refused",
	}, brief(outcome.Changes))
	assert.ErrorIs(t, outcome.Changes[1].Err, attr.ErrNotPermitted)
	assert.ErrorIs(t, outcome.Changes[3].Err, attr.ErrGone)
	assert.Equal(t, "there is no process or thread 99", outcome.Changes[3].Reason)
	assert.Equal(t, change.Some, outcome.Verdict())
}

func TestApplyOrder(t *testing.T) {
	all := []attr.Setting{ // in any order
		attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10}), attr.SetNice(-5),
		attr.SetIOPrio(kernel.IOPrio{Class: kernel.IOIdle}), attr.SetAffinity(cpuset.Of(1)),
	}
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.SpawnAs(20, 20, kernelfake.Task{
		Affinity: cpuset.Of(0, 1, 2, 3),
		Attr:     kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1e6, DeadlineNs: 2e7, PeriodNs: 2e7},
	})
	outcome := apply(t, m.Tuner(bare), changetest.Set(all, 10, 20))
	assert.Equal(t, 8, outcome.Count(attr.Done))
	assert.Equal(t, []string{
		"SetAffinity(10, 1)", "SetNice(10, -5)", "SetIOPrio(10, {3 0})", "SetPolicy(10, FIFO, 10, false)",
		// A DEADLINE task cannot be moved, so its policy comes first.
		"SetPolicy(20, FIFO, 10, false)", "SetAffinity(20, 1)", "SetNice(20, -5)", "SetIOPrio(20, {3 0})",
	}, m.Calls())
	assert.Equal(t, "DEADLINE:1ms/20ms/20ms", outcome.Changes[4].Before.String())
}

func TestApplySeveralRequestsAtOnce(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	requests := append(pin(change.ScopeProcess, cpuset.Of(1), 10), pin(change.ScopeProcess, cpuset.Of(2), 20)...)
	requests = append(requests, pin(change.ScopeProcess, cpuset.Of(3), 10)...) // the last one counts
	apply(t, m.Tuner(bare), requests)
	assert.Equal(t, []string{"SetAffinity(10, 3)", "SetAffinity(20, 2)"}, m.Calls())
}

func TestApplySaysWhenTheCpusetCuts(t *testing.T) {
	m := changetest.New(t)
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
	m.Write("proc/10/cgroup", "3:cpuset:/web\n0::/\n")
	m.Write("sys/fs/cgroup/cpuset/web/cpuset.effective_cpus", "0-1\n")
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1, 2), 10))
	assert.Equal(t, []string{"cgroup /web allows 10 only CPUs 0-1: the kernel will cut 1-2 to 1"}, change.Texts(p.Warnings))
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, []string{"affinity 0-1 to 1: done"}, brief(outcome.Changes))
	assert.Equal(t, "CPU 1 is in force: cgroup /web allows only CPUs 0-1", outcome.Changes[0].Reason)
	assert.Equal(t, p.Warnings, outcome.Warnings)
}

func TestApplySaysWhenItDoesNotStick(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	// Something else sets it just before it is read again.
	m.Before("SetAffinity", 10, func() {
		m.Before("Affinity", 10, func() { require.NoError(t, m.SetAffinity(10, cpuset.Of(3))) })
	})
	c := applyPlan(t, tuner, p).Changes[0]
	assert.Equal(t, attr.Failed, c.Status)
	assert.True(t, c.Taken)
	assert.Equal(t, "it did not stick: 1 was set and 3 is in force; something else sets it too", c.Reason)
}

func TestApplyFindsNewThreads(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	looks := 0
	m.OnList = func(kernel.TID) {
		looks++
		switch looks {
		case 1: // created by a thread that was not set yet
			m.Spawn(10, 12)
		case 2: // created by one that was
			m.SpawnAs(10, 13, kernelfake.Task{Affinity: cpuset.Of(1)})
		}
	}
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, 3, outcome.Passes)
	assert.Equal(t, 2, outcome.Newborn)
	assert.Equal(t, []string{
		"affinity 0-3 to 1: done", "affinity 0-3 to 1: done", "affinity 0-3 to 1: done", "affinity 0-3 to 1: done",
	}, brief(outcome.Changes))
	assert.Equal(t, "1", m.Task(12).Affinity.String())
	assert.NotContains(t, m.Calls(), "SetAffinity(13, 1)", "it was born with the value")
}

// A thread that is there and cannot be looked at has not been found to be as was asked.
func TestApplyCannotLookAtANewThread(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	m.OnList = func(kernel.TID) {
		if m.Tasks[12] == nil {
			m.Spawn(10, 12)
			m.Fail("Affinity", 12, syscall.ENOMEM)
		}
	}
	outcome := applyPlan(t, tuner, p)
	assert.True(t, outcome.Unsettled)
	assert.Regexp(t, `^not every thread could be looked at \(.*cannot allocate memory\) after 5s and \d+ passes; run it again$`, outcome.Warnings[0].Text)
}

func TestApplyWithoutPidfds(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Fail("Hold", 10, syscall.ENOSYS)
	outcome := apply(t, m.Tuner(bare), pin(change.ScopeProcess, cpuset.Of(1), 10))
	assert.Equal(t, 1, outcome.Count(attr.Done))
	require.Len(t, outcome.Warnings, 1)
	assert.Contains(t, outcome.Warnings[0].Text, "start time alone")
}

func TestApplyStopsWhenInterrupted(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10, 20))
	ctx, cancel := context.WithCancel(t.Context())
	m.Before("SetAffinity", 10, cancel)
	outcome, err := tuner.Apply(ctx, p, change.Confirmation{})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 0-3 to 1: refused"}, brief(outcome.Changes))
	assert.Equal(t, change.Some, outcome.Verdict())
}

func TestApplyHoldsManyProcesses(t *testing.T) {
	m := changetest.New(t)
	var tids []kernel.TID
	for tid := kernel.TID(1000); tid < 1600; tid++ { // more than it holds at once
		m.Spawn(tid, tid)
		tids = append(tids, tid)
	}
	outcome := apply(t, m.Tuner(bare), pin(change.ScopeProcess, cpuset.Of(1), tids...))
	assert.Equal(t, len(tids), outcome.Count(attr.Done))
}

func TestReadOnlyChangesNothing(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := change.New(change.Options{Sources: m.Sources(), Journal: changetest.Journal(t)})
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	_, err := tuner.Apply(t.Context(), p, change.Confirmation{Yes: true})
	require.ErrorIs(t, err, change.ErrReadOnly)
	require.ErrorIs(t, tuner.Signal(change.Target{TID: 10}, syscall.SIGTERM), change.ErrReadOnly)
	assert.Empty(t, m.Calls())
}
