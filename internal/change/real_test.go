package change_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

// The tests of this file change processes that they start themselves, with the
// real kernel.

var proc = procfs.New("/")

// recorded is this machine's Tuner with a journal of its own.
func recorded(t *testing.T) *change.Tuner {
	t.Helper()
	return change.New(change.Options{
		Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(), Journal: changetest.Journal(t),
	})
}

func realThreads(t *testing.T, pid kernel.TID) []kernel.TID {
	t.Helper()
	tids, err := proc.Threads(pid)
	require.NoError(t, err)
	return tids
}

func cpusOf(t *testing.T, tid kernel.TID) cpuset.Set {
	t.Helper()
	set, err := kernel.System().Affinity(tid)
	require.NoError(t, err)
	return set
}

// twoCPUs returns those that the test may use, or skips.
func twoCPUs(t *testing.T) (all, first, last cpuset.Set) {
	t.Helper()
	all = cpusOf(t, 0)
	if all.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	return all, cpuset.Of(all.First()), cpuset.Of(all.Last())
}

func settingsOf(t *testing.T, tid kernel.TID) map[attr.Attribute]string {
	t.Helper()
	out := map[attr.Attribute]string{}
	for _, a := range []attr.Attribute{attr.Affinity, attr.Nice, attr.Policy, attr.IOPrio} {
		value, err := change.Local().Value(a, tid)
		require.NoError(t, err)
		out[a] = value.String()
	}
	return out
}

// single makes one change of one thread.
func single(t *testing.T, tuner *change.Tuner, tid kernel.TID, s attr.Setting) change.Change {
	t.Helper()
	return apply(t, tuner, []change.Request{{Targets: []change.Target{{TID: tid, Scope: change.ScopeThread}}, Set: []attr.Setting{s}}}).Changes[0]
}

func TestRealRoundTrip(t *testing.T) {
	needRoot(t)
	pid, _ := start(t, "idle")
	tuner := recorded(t)
	was := map[kernel.TID]map[attr.Attribute]string{}
	for _, tid := range realThreads(t, pid) {
		was[tid] = settingsOf(t, tid)
	}
	require.GreaterOrEqual(t, len(was), 5)
	cpu := cpuset.Of(cpusOf(t, pid).Last())

	for _, policy := range []string{"fifo:7", "rr:3,reset-on-fork", "batch", "idle"} {
		v, err := attr.Policy.Parse(policy)
		require.NoError(t, err)
		p := attr.PolicyOf(v)
		outcome := apply(t, tuner, changetest.Set([]attr.Setting{
			attr.SetAffinity(cpu), attr.SetNice(-3), attr.SetPolicy(p), attr.SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 1}),
		}, pid))
		require.Zero(t, outcome.Count(attr.Failed), "%v", outcome.Changes)
		want := map[attr.Attribute]string{attr.Affinity: cpu.String(), attr.Nice: "-3", attr.Policy: p.String(), attr.IOPrio: "best-effort:1"}
		for _, tid := range realThreads(t, pid) {
			assert.Equal(t, want, settingsOf(t, tid))
		}
		outcome = undo(t, tuner, change.UndoRequest{Last: 1})
		require.Zero(t, outcome.Count(attr.Failed), "%v", outcome.Changes)
		for tid, values := range was {
			assert.Equal(t, values, settingsOf(t, tid), "thread %d after the undo of %s", tid, policy)
		}
	}
}

// A DEADLINE task can be made ordinary, and is DEADLINE again after the undo.
func TestRealDeadline(t *testing.T) {
	needRoot(t)
	pid, _ := start(t, "idle")
	was := kernel.SchedAttr{Policy: kernel.Deadline, RuntimeNs: 1e6, DeadlineNs: 20e6, PeriodNs: 20e6, Reclaim: true}
	if err := kerneltest.Of(t, pid, pid).SetAttr(was); err != nil {
		t.Skipf("DEADLINE is not to be had here: %v", err)
	}
	tuner := recorded(t)
	if mine := cpusOf(t, pid); mine.Len() > 1 {
		c := single(t, tuner, pid, attr.SetAffinity(cpuset.Of(mine.Last())))
		assert.Equal(t, attr.Failed, c.Status)
		assert.Contains(t, c.Reason, "DEADLINE task")
	}
	c := single(t, tuner, pid, attr.SetPolicy(attr.PolicyValue{Policy: kernel.Batch}))
	assert.Equal(t, attr.Done, c.Status, c.Reason)
	assert.Equal(t, "DEADLINE:1ms/20ms/20ms,reclaim", c.Before.String())
	if outcome := undo(t, tuner, change.UndoRequest{Last: 1}); outcome.Count(attr.Failed) > 0 {
		require.Contains(t, outcome.Changes[0].Reason, "no DEADLINE bandwidth left")
		t.Skip("guards of other tests have all DEADLINE time by now")
	}
	now, err := kernel.System().Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, was, now)
}

func TestRealThreadScope(t *testing.T) {
	all, first, _ := twoCPUs(t)
	pid, _ := start(t, "idle")
	tids := realThreads(t, pid)
	c := single(t, change.Local(), tids[2], attr.SetAffinity(first))
	assert.Equal(t, attr.Done, c.Status)
	assert.Equal(t, pid, c.PID)
	assert.Equal(t, first, cpusOf(t, tids[2]))
	assert.Equal(t, all, cpusOf(t, tids[1]))
}

// A process whose threads create threads all the time: none may be missed.
func TestRealStorm(t *testing.T) {
	all, first, last := twoCPUs(t)
	pid, _ := start(t, "storm")
	tuner := recorded(t)
	runs := 50
	if testing.Short() {
		runs = 10
	}
	passes, newThread := 0, 0
	for i := range runs {
		cpu := []cpuset.Set{first, last}[i%2]
		outcome := apply(t, tuner, pin(change.ScopeProcess, cpu, pid))
		passes, newThread = max(passes, outcome.Passes), newThread+outcome.Newborn
		assert.Zero(t, outcome.Count(attr.Failed)+outcome.Count(attr.Refused), "threads that end are no failure: %v", outcome.Changes)
		for _, tid := range realThreads(t, pid) {
			if got, err := kernel.System().Affinity(tid); err == nil {
				assert.Equal(t, cpu, got, "run %d, thread %d", i, tid)
			}
		}
	}
	t.Logf("%d runs: at most %d passes; %d threads were born meanwhile", runs, passes, newThread)
	undo(t, tuner, change.UndoRequest{All: true})
	for _, tid := range realThreads(t, pid) {
		if got, err := kernel.System().Affinity(tid); err == nil {
			assert.Equal(t, all, got, "thread %d after undo", tid)
		}
	}
}

func TestRealProcessThatDies(t *testing.T) {
	pid, end := start(t, "idle")
	tuner := recorded(t)
	requests := pin(change.ScopeProcess, cpuset.Of(cpusOf(t, pid).Last()), pid)
	p := plan(t, tuner, requests)
	end()
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, len(p.Changes), outcome.Count(attr.Failed)+outcome.Count(attr.Unchanged))
	for _, c := range outcome.Changes {
		if c.Status == attr.Failed {
			assert.ErrorIs(t, c.Err, attr.ErrGone)
			assert.Contains(t, c.Reason, "has ended")
		}
	}
	assert.Equal(t, attr.Refused, plan(t, tuner, requests).Changes[0].Status)
}

// The number of a process is reused between plan and action.
func TestRealReuse(t *testing.T) {
	needRoot(t)
	all, first, last := twoCPUs(t)
	pid, end := start(t, "idle")
	tuner := recorded(t)
	apply(t, tuner, pin(change.ScopeProcess, last, pid)) // to be undone later
	p := plan(t, tuner, pin(change.ScopeProcess, first, pid))
	target := change.Target{TID: pid, StartTicks: p.Changes[0].StartTicks}
	end()

	successor := reuse(t, pid)
	for _, c := range applyPlan(t, tuner, p).Changes {
		assert.Equal(t, attr.Failed, c.Status)
	}
	assert.Zero(t, undo(t, tuner, change.UndoRequest{Last: 1}).Count(attr.Done))
	assert.Equal(t, all, cpusOf(t, successor), "the newcomer was left alone")

	old := p.Requests
	old[0].Targets[0] = target
	assert.Equal(t, attr.Refused, plan(t, tuner, old).Changes[0].Status)
	assert.ErrorIs(t, tuner.Signal(target, syscall.SIGKILL), attr.ErrGone)
}

// reuse starts a process that has the number pid.
func reuse(t *testing.T, pid kernel.TID) kernel.TID {
	t.Helper()
	const tries = 50 // other processes of the machine take numbers too
	nowTicks()       // start times are in ticks, and the two are to differ
	for range tries {
		if err := forceNext(pid); err != nil {
			t.Skipf("process numbers cannot be forced here: %v", err)
		}
		cmd := exec.Command("sleep", "300")
		require.NoError(t, cmd.Start())
		if kernel.TID(cmd.Process.Pid) == pid {
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			return pid
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Skipf("number %d was not to be had in %d tries", pid, tries)
	return 0
}

func TestRealBusyTask(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("this kernel has no schedstat (CONFIG_SCHED_INFO)")
	}
	busy, _ := start(t, "busy")
	assert.Eventually(t, func() bool {
		return strings.Contains(plan(t, change.Local(), changetest.One(fifo, busy)).Danger(), "busy") // all the time, or on every CPU at once
	}, time.Minute, 10*time.Millisecond, "once it spins")
	idle, _ := start(t, "idle")
	assert.Eventually(t, func() bool {
		return len(plan(t, change.Local(), changetest.One(fifo, idle)).Needs) == 0
	}, time.Minute, 10*time.Millisecond, "once it has started")
}
