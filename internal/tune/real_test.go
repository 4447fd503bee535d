package tune

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The tests of this file change processes that they start themselves, with the
// real kernel.

var proc = procfs.New("/")

func realThreads(t *testing.T, pid kernel.TID) []kernel.TID {
	t.Helper()
	tids, err := proc.Threads(pid)
	require.NoError(t, err)
	return tids
}

func affinityOf(t *testing.T, tid kernel.TID) string {
	t.Helper()
	set, err := kernel.System().Affinity(tid)
	require.NoError(t, err)
	return set.String()
}

func settingsOf(t *testing.T, tid kernel.TID) map[Attribute]string {
	t.Helper()
	out := map[Attribute]string{}
	for _, name := range []Attribute{Affinity, Nice, Policy, IOPrio} {
		value, err := New(Options{}).read(Change{PID: tid, TID: tid, Attribute: name})
		require.NoError(t, err)
		out[name] = value
	}
	return out
}

func TestRealRoundTrip(t *testing.T) {
	needRoot(t)
	pid, _ := start(t, "idle")
	tuner := New(Options{Journal: openJournal(t)})
	was := map[kernel.TID]map[Attribute]string{}
	for _, tid := range realThreads(t, pid) {
		was[tid] = settingsOf(t, tid)
	}
	require.GreaterOrEqual(t, len(was), 5)
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)

	for _, policy := range []string{"fifo:7", "rr:3,reset-on-fork", "batch", "idle"} {
		cpu, nice := cpuset.Of(mine.Last()), -3
		p, err := ParsePolicy(policy)
		require.NoError(t, err)
		result := apply(t, tuner, []Request{{Targets: []Target{{TID: pid}}, Settings: Settings{
			Affinity: &cpu, Nice: &nice, Policy: &p, IOPrio: &kernel.IOPrio{Class: kernel.IOBestEffort, Level: 1},
		}}})
		require.Zero(t, result.Count(Failed), "%v", result.Changes)
		want := map[Attribute]string{Affinity: cpu.String(), Nice: "-3", Policy: p.String(), IOPrio: "best-effort:1"}
		for _, tid := range realThreads(t, pid) {
			assert.Equal(t, want, settingsOf(t, tid))
		}
		result = undo(t, tuner, UndoRequest{Last: 1})
		require.Zero(t, result.Count(Failed), "%v", result.Changes)
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
	if err := kernel.System().SetAttr(pid, was); err != nil {
		t.Skipf("DEADLINE is not to be had here: %v", err)
	}
	tuner := New(Options{Journal: openJournal(t)})
	thread := func(s Settings) Change {
		return apply(t, tuner, []Request{{Targets: []Target{{TID: pid, Scope: ScopeThread}}, Settings: s}}).Changes[0]
	}
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	if one := cpuset.Of(mine.Last()); mine.Len() > 1 {
		c := thread(Settings{Affinity: &one})
		assert.Equal(t, Failed, c.Status)
		assert.Contains(t, c.Reason, "DEADLINE task")
	}
	c := thread(Settings{Policy: &PolicySetting{Policy: kernel.Batch}})
	assert.Equal(t, Done, c.Status, c.Reason)
	assert.Equal(t, "DEADLINE:1ms/20ms/20ms,reclaim", c.Before)
	undo(t, tuner, UndoRequest{Last: 1})
	now, err := kernel.System().Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, was, now)
}

func TestRealThreadScope(t *testing.T) {
	pid, _ := start(t, "idle")
	tids := realThreads(t, pid)
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	if mine.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	result := apply(t, New(Options{}), pin(ScopeThread, cpuset.Of(mine.First()), tids[2]))
	assert.Equal(t, 1, result.Count(Done))
	assert.Equal(t, pid, result.Changes[0].PID)
	assert.Equal(t, cpuset.Of(mine.First()).String(), affinityOf(t, tids[2]))
	assert.Equal(t, mine.String(), affinityOf(t, tids[1]))
}

// A process whose threads create threads all the time: none may be missed.
func TestRealStorm(t *testing.T) {
	mine, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	if mine.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	pid, _ := start(t, "storm")
	journal := openJournal(t)
	tuner := New(Options{Journal: journal})
	const runs = 50
	passes, newborn := 0, 0
	for i := range runs {
		cpu := []cpuset.CPU{mine.First(), mine.Last()}[i%2]
		result := apply(t, tuner, pin(ScopeProcess, cpuset.Of(cpu), pid))
		passes, newborn = max(passes, result.Passes), newborn+result.Newborn
		assert.Zero(t, result.Count(Failed)+result.Count(Refused), "threads that end are no failure: %v", result.Changes)
		for _, tid := range realThreads(t, pid) {
			if got, err := kernel.System().Affinity(tid); err == nil {
				assert.Equal(t, cpuset.Of(cpu).String(), got.String(), "run %d, thread %d", i, tid)
			}
		}
	}
	t.Logf("%d runs: at most %d passes; %d threads were born meanwhile", runs, passes, newborn)
	undo(t, tuner, UndoRequest{All: true})
	for _, tid := range realThreads(t, pid) {
		if got, err := kernel.System().Affinity(tid); err == nil {
			assert.Equal(t, mine.String(), got.String(), "thread %d after undo", tid)
		}
	}
}

func TestRealProcessThatDies(t *testing.T) {
	pid, end := start(t, "idle")
	tuner := New(Options{Journal: openJournal(t)})
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(mine.Last()), pid))
	require.NoError(t, err)
	end()
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, len(plan.Changes), result.Count(Failed)+result.Count(Unchanged))
	for _, c := range result.Changes {
		if c.Status == Failed {
			assert.ErrorIs(t, c.Err, ErrGone)
			assert.Contains(t, c.Reason, "has ended")
		}
	}
	plan, err = tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(mine.Last()), pid))
	require.NoError(t, err)
	assert.Equal(t, Refused, plan.Changes[0].Status)
}

// The number of a process is reused between plan and action.
func TestRealReuse(t *testing.T) {
	needRoot(t)
	pid, end := start(t, "idle")
	tuner := New(Options{Journal: openJournal(t)})
	mine, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	if mine.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	target := cpuset.Of(mine.Last())
	apply(t, tuner, pin(ScopeProcess, target, pid)) // to be undone later
	other := cpuset.Of(mine.First())
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, other, pid))
	require.NoError(t, err)
	end()

	successor := reuse(t, pid)
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	for _, c := range result.Changes {
		assert.Equal(t, Failed, c.Status)
	}
	undone := undo(t, tuner, UndoRequest{Last: 1})
	assert.Zero(t, undone.Count(Done))
	assert.Equal(t, mine.String(), affinityOf(t, successor), "the newcomer was left alone")

	old, err := tuner.Plan(context.Background(), []Request{{
		Targets: []Target{plan.follow[0].target}, Settings: plan.Requests[0].Settings,
	}})
	require.NoError(t, err)
	assert.Equal(t, Refused, old.Changes[0].Status)
	assert.ErrorIs(t, tuner.Signal(plan.follow[0].target, syscall.SIGKILL), ErrGone)
}

// reuse starts a process that has the number pid.
func reuse(t *testing.T, pid kernel.TID) kernel.TID {
	t.Helper()
	const tries = 50 // other processes of the machine take numbers too
	for range tries {
		if err := forceNext(pid); err != nil {
			t.Skipf("process numbers cannot be forced here: %v", err)
		}
		cmd := exec.Command("sleep", "20")
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
	pid, _ := start(t, "busy")
	plan := planFor(t, New(Options{}), fifo(5), pid)
	assert.Contains(t, plan.Trial, "busy all the time")
	idle, _ := start(t, "idle")
	plan = planFor(t, New(Options{}), fifo(5), idle)
	assert.Empty(t, plan.Trial)
}
