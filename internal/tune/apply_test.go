package tune

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func pin(scope Scope, cpus cpuset.Set, tids ...kernel.TID) []Request {
	r := Request{Settings: Settings{Affinity: &cpus}}
	for _, tid := range tids {
		r.Targets = append(r.Targets, Target{TID: tid, Scope: scope})
	}
	return []Request{r}
}

func apply(t *testing.T, tuner *Tuner, requests []Request) Result {
	t.Helper()
	plan, err := tuner.Plan(context.Background(), requests)
	require.NoError(t, err)
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	return result
}

// outcome is the part of a change that most tests compare.
func outcome(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Attribute)+" "+c.Before+" to "+c.After+": "+string(c.Status))
	}
	return out
}

func TestApplyPinsEveryThread(t *testing.T) {
	m := newMachine(t)
	for tid := kernel.TID(10); tid < 13; tid++ {
		m.spawn(10, tid)
	}
	m.spawn(20, 20)
	result := apply(t, m.tuner(Options{}), pin(ScopeProcess, cpuset.Of(2), 11))
	assert.Equal(t, []string{"SetAffinity(10, 2)", "SetAffinity(11, 2)", "SetAffinity(12, 2)"}, m.Calls())
	assert.Equal(t, 3, result.Count(Done))
	assert.Equal(t, 2, result.Passes)
	assert.Equal(t, "0-3", m.Task(20).Affinity.String())
}

func TestApplyThreadScope(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(10, 11)
	result := apply(t, m.tuner(Options{}), pin(ScopeThread, cpuset.Of(2), 11))
	assert.Equal(t, []string{"SetAffinity(11, 2)"}, m.Calls())
	assert.Equal(t, kernel.TID(10), result.Changes[0].PID)
}

func TestApplyTree(t *testing.T) {
	m := newMachine(t)
	for _, tid := range []kernel.TID{10, 20, 30, 40} {
		m.spawn(tid, tid)
	}
	m.tasks[20].PPID = 10
	m.tasks[40].PPID = 20
	apply(t, m.tuner(Options{}), pin(ScopeTree, cpuset.Of(2), 10))
	assert.Equal(t, []string{"SetAffinity(10, 2)", "SetAffinity(20, 2)", "SetAffinity(40, 2)"}, m.Calls())
}

func TestApplySkipsWhatIsEqual(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	result := apply(t, m.tuner(Options{}), pin(ScopeProcess, cpuset.Of(0, 1, 2, 3), 10))
	assert.Empty(t, m.Calls())
	assert.Equal(t, 1, result.Count(Unchanged))
}

func TestApplyOneFailureHidesNoOther(t *testing.T) {
	m := newMachine(t)
	for tid := kernel.TID(10); tid < 13; tid++ {
		m.spawn(tid, tid)
	}
	m.Fail("SetAffinity", 11, syscall.EPERM)
	result := apply(t, m.tuner(Options{Rights: noRights}), pin(ScopeProcess, cpuset.Of(2), 10, 11, 12, 99))
	var statuses []Status
	for _, c := range result.Changes {
		statuses = append(statuses, c.Status)
	}
	assert.Equal(t, []Status{Done, Failed, Done, Refused}, statuses)
	assert.ErrorIs(t, result.Changes[1].Err, ErrNotPermitted)
	assert.ErrorIs(t, result.Changes[3].Err, ErrGone)
	assert.Equal(t, "there is no process or thread 99", result.Changes[3].Reason)
}

func TestApplyOrder(t *testing.T) {
	nice, cpus := -5, cpuset.Of(1)
	all := Settings{
		Affinity: &cpus, Nice: &nice,
		Policy: &PolicySetting{Policy: kernel.FIFO, RTPrio: 10},
		IOPrio: &kernel.IOPrio{Class: kernel.IOIdle},
	}
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawnAs(20, 20, kerneltest.Task{
		Affinity: cpuset.Of(0, 1, 2, 3),
		Attr:     kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1e6, DeadlineNs: 2e7, PeriodNs: 2e7},
	})
	result := apply(t, m.tuner(Options{}), []Request{{Targets: []Target{{TID: 10}, {TID: 20}}, Settings: all}})
	assert.Equal(t, 8, result.Count(Done))
	assert.Equal(t, []string{
		"SetAffinity(10, 1)", "SetNice(10, -5)", "SetIOPrio(10, {3 0})", "SetPolicy(10, FIFO, 10, false)",
		// A DEADLINE task cannot be moved, so its policy comes first.
		"SetPolicy(20, FIFO, 10, false)", "SetAffinity(20, 1)", "SetNice(20, -5)", "SetIOPrio(20, {3 0})",
	}, m.Calls())
	assert.Equal(t, "DEADLINE:1ms/20ms/20ms", result.Changes[4].Before)
}

func TestApplySeveralRequestsAtOnce(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(20, 20)
	requests := append(pin(ScopeProcess, cpuset.Of(1), 10), pin(ScopeProcess, cpuset.Of(2), 20)...)
	requests = append(requests, pin(ScopeProcess, cpuset.Of(3), 10)...) // the last one counts
	apply(t, m.tuner(Options{}), requests)
	assert.Equal(t, []string{"SetAffinity(10, 3)", "SetAffinity(20, 2)"}, m.Calls())
}

func TestApplySaysWhenTheCpusetCuts(t *testing.T) {
	m := newMachine(t)
	m.spawnAs(10, 10, kerneltest.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
	m.write("proc/10/cgroup", "3:cpuset:/web\n0::/\n")
	m.write("sys/fs/cgroup/cpuset/web/cpuset.effective_cpus", "0-1\n")
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1, 2), 10))
	require.NoError(t, err)
	assert.Equal(t, []string{"cgroup /web allows 10 only CPUs 0-1: the kernel will cut 1-2 to 1"}, plan.Warnings)
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, []string{"affinity 0-1 to 1: done"}, outcome(result.Changes))
	assert.Equal(t, "CPU 1 is in force: cgroup /web allows only CPUs 0-1", result.Changes[0].Reason)
}

func TestApplySaysWhenItDoesNotStick(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, err)
	// Something else moves it back just before it is read again.
	m.Before("SetAffinity", 10, func() {
		m.Before("Affinity", 10, func() { m.Create(10, kerneltest.Task{Affinity: cpuset.Of(3)}) })
	})
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, Failed, result.Changes[0].Status)
}

func TestApplyFindsNewThreads(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(10, 11)
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, err)
	looks := 0
	m.onTID = func(kernel.TID) {
		looks++
		switch looks {
		case 1: // created by a thread that was not set yet
			m.spawn(10, 12)
		case 2: // created by one that was
			m.spawnAs(10, 13, kerneltest.Task{Affinity: cpuset.Of(1)})
		}
	}
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, 3, result.Passes)
	assert.Equal(t, 2, result.Newborn)
	assert.Equal(t, []string{
		"affinity 0-3 to 1: done", "affinity 0-3 to 1: done", "affinity 0-3 to 1: done", "affinity 0-3 to 1: done",
	}, outcome(result.Changes))
	assert.Equal(t, "1", m.Task(12).Affinity.String())
	assert.NotContains(t, m.Calls(), "SetAffinity(13, 1)", "it was born with the value")
}

func TestApplyNeverTouchesASuccessor(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, err)
	m.end(10)
	m.spawn(10, 10)
	m.tasks[10].StartTicks = 99999 // the number was reused after the plan
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Empty(t, m.Calls())
	assert.Equal(t, Failed, result.Changes[0].Status)
	assert.ErrorIs(t, result.Changes[0].Err, ErrGone)

	_, err = tuner.Plan(context.Background(), []Request{{
		Targets: []Target{{TID: 10, StartTicks: 5}}, Settings: pin(0, cpuset.Of(1))[0].Settings,
	}})
	require.NoError(t, err)
	assert.Empty(t, m.Calls())
}

// The number is reused between the check and the call, by a process with the
// same start time: only the handle can tell.
func TestApplyConfessesAHitSuccessor(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeThread, cpuset.Of(1), 10))
	require.NoError(t, err)
	m.Before("SetAffinity", 10, func() {
		m.end(10)
		m.spawn(10, 10)
		m.tasks[10].Comm = []byte("other")
	})
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, Failed, result.Changes[0].Status)
	assert.ErrorIs(t, result.Changes[0].Err, ErrGone)
	assert.Contains(t, result.Changes[0].Reason, "its number now means other, which may have been given CPU 1 instead")
}

// The same with one thread of a process, which lives on.
func TestApplyConfessesAHitSuccessorOfAThread(t *testing.T) {
	for name, tt := range map[string]struct {
		pid  kernel.TID // of the process that gets the thread's number
		want string
	}{
		"another process": {11, "affinity 0-3 to 1: failed"},
		"its own process": {10, "affinity 0-3 to 1: done"}, // to be given the same, as any of its threads
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.spawn(10, 10)
			m.spawn(10, 11)
			tuner := m.tuner(Options{})
			plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10))
			require.NoError(t, err)
			m.Before("SetAffinity", 11, func() {
				m.end(11)
				m.spawn(tt.pid, 11)
				m.tasks[11].Comm, m.tasks[11].StartTicks = []byte("other"), 99999
			})
			result, err := tuner.Apply(context.Background(), plan)
			require.NoError(t, err)
			assert.Equal(t, []string{"affinity 0-3 to 1: done", tt.want}, outcome(result.Changes))
			if tt.pid != 10 {
				assert.Contains(t, result.Changes[1].Reason, "its number now means other, which may have been given CPU 1 instead")
			}
		})
	}
}

func TestApplyWithoutPidfds(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.Fail("Hold", 10, syscall.ENOSYS)
	result := apply(t, m.tuner(Options{}), pin(ScopeProcess, cpuset.Of(1), 10))
	assert.Equal(t, 1, result.Count(Done))
	require.Len(t, result.Warnings, 1)
	assert.Contains(t, result.Warnings[0], "start time alone")
}

func TestApplyStopsWhenInterrupted(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(20, 20)
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10, 20))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	m.Before("SetAffinity", 10, cancel)
	result, err := tuner.Apply(ctx, plan)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 0-3 to 1: refused"}, outcome(result.Changes))
}

func TestApplyHoldsManyProcesses(t *testing.T) {
	m := newMachine(t)
	var tids []kernel.TID
	for tid := kernel.TID(1000); tid < 1000+2*maxHolds; tid++ {
		m.spawn(tid, tid)
		tids = append(tids, tid)
	}
	result := apply(t, m.tuner(Options{}), pin(ScopeProcess, cpuset.Of(1), tids...))
	assert.Equal(t, len(tids), result.Count(Done))
}

func TestApplyThreadsThatEndAreNoFailure(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(10, 11)
	m.spawn(20, 20)
	m.spawn(20, 21)
	tuner := m.tuner(Options{})
	requests := append(pin(ScopeProcess, cpuset.Of(1), 10, 20), pin(ScopeThread, cpuset.Of(1), 21)...)
	plan, err := tuner.Plan(context.Background(), requests)
	require.NoError(t, err)
	m.Before("SetAffinity", 10, func() { m.end(11); m.end(21) })
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"affinity 0-3 to 1: done", "affinity 0-3 to 1: unchanged", "affinity 0-3 to 1: done", "affinity 0-3 to 1: failed",
	}, outcome(result.Changes), "unless that very thread was asked for")
}

func TestPlanLeavesOutThreadsThatEnded(t *testing.T) {
	m := newMachine(t)
	for tid := kernel.TID(10); tid < 13; tid++ {
		m.spawn(10, tid)
	}
	m.tasks[10].State = 'Z' // the first thread may end before the others
	m.tasks[12].State = 'X'
	result := apply(t, m.tuner(Options{}), pin(ScopeProcess, cpuset.Of(2), 10))
	assert.Equal(t, []string{"affinity 0-3 to 2: done"}, outcome(result.Changes))
	assert.Equal(t, kernel.TID(11), result.Changes[0].TID)

	m.Kill(11) // it ends after it was listed
	plan, err := m.tuner(Options{}).Plan(context.Background(), pin(ScopeProcess, cpuset.Of(2), 10))
	require.NoError(t, err)
	assert.Equal(t, []string{"affinity  to 2: refused"}, outcome(plan.Changes))
	assert.Equal(t, "10 has ended", plan.Changes[0].Reason)
}
