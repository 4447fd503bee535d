package change_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

func TestApplyNeverTouchesASuccessor(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	m.Replace(10, 10, "other") // after the plan
	outcome := applyPlan(t, tuner, p)
	assert.Empty(t, m.Calls())
	assert.Equal(t, attr.Failed, outcome.Changes[0].Status)
	assert.ErrorIs(t, outcome.Changes[0].Err, attr.ErrGone)

	known := pin(0, cpuset.Of(1), 10)
	known[0].Targets[0].StartTicks = 5
	p = plan(t, tuner, known)
	assert.Equal(t, "10 has ended", p.Changes[0].Reason, "its number means another now")
	assert.Equal(t, attr.Refused, p.Changes[0].Status)
	applyPlan(t, tuner, p)
	assert.Empty(t, m.Calls())
}

// The number is reused between the check and the call.
func TestApplyConfessesAHitSuccessor(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeThread, cpuset.Of(1), 10))
	m.Before("SetAffinity", 10, func() { m.Replace(10, 10, "other") })
	c := applyPlan(t, tuner, p).Changes[0]
	assert.Equal(t, attr.Failed, c.Status)
	assert.ErrorIs(t, c.Err, attr.ErrGone)
	assert.Contains(t, c.Reason, "its number now means other, which may have been given CPU 1 instead")
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
			m := changetest.New(t)
			m.Spawn(10, 10)
			m.Spawn(10, 11)
			tuner := m.Tuner(bare)
			p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
			m.Before("SetAffinity", 11, func() { m.Replace(tt.pid, 11, "other") })
			outcome := applyPlan(t, tuner, p)
			assert.Equal(t, []string{"affinity 0-3 to 1: done", tt.want}, brief(outcome.Changes))
			if tt.pid != 10 {
				assert.Contains(t, outcome.Changes[1].Reason, "its number now means other, which may have been given CPU 1 instead")
			}
		})
	}
}

// hooked is the machine's tasks and scheduler with something that happens after a call.
type hooked struct {
	*changetest.Machine
	stat, affinity map[kernel.TID]func() error
	unlisted       error // of Processes
}

func (h *hooked) tuner(o change.Options) *change.Tuner {
	o.Sources, o.Writer, o.FileWriter = h.Sources(), h.Fake, h.Settings
	o.Proc, o.Sched = h, h
	return change.New(o)
}

func (h *hooked) Stat(pid kernel.TID) (procfs.Stat, error) {
	st, err := h.Machine.Stat(pid)
	return st, errors.Join(err, once(h.stat, pid))
}

func (h *hooked) Affinity(tid kernel.TID) (cpuset.Set, error) {
	cpus, err := h.Machine.Affinity(tid)
	return cpus, errors.Join(err, once(h.affinity, tid))
}

func (h *hooked) Processes() ([]kernel.TID, error) {
	pids, err := h.Machine.Processes()
	return pids, errors.Join(err, h.unlisted)
}

func once(hooks map[kernel.TID]func() error, tid kernel.TID) error {
	hook := hooks[tid]
	if hook == nil {
		return nil
	}
	delete(hooks, tid)
	return hook()
}

// TestOldValueIsOfTheThreadItself: the number of a thread is another process's while its value is
// read again, and then of a newborn of the thread's process.
func TestOldValueIsOfTheThreadItself(t *testing.T) {
	h := &hooked{Machine: changetest.New(t)}
	for tid, pid := range map[kernel.TID]kernel.TID{10: 10, 11: 10, 20: 20} {
		h.Spawn(pid, tid)
	}
	o := change.Options{Journal: changetest.Journal(t)}
	tuner := h.tuner(o)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	h.Before("SetAffinity", 10, func() {
		h.Kill(11)
		h.SpawnAs(20, 11, kernelfake.Task{Affinity: cpuset.Of(0, 3), Start: 2000})
		h.affinity = map[kernel.TID]func() error{11: func() error {
			h.Replace(10, 11, "job")
			return nil
		}}
	})
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 0-3 to 1: unchanged", "affinity 0-3 to 1: done"}, brief(outcome.Changes))
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0-3"}, masks(h.Machine, 10, 11))
}

// TestTreeOfAProcessThatEnds: a number in the tree means another process by the time at which its
// children are listed.
func TestTreeOfAProcessThatEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		reused, read kernel.TID // once this was read
		want         []string
	}{
		"the tree's own": {10, 5, []string{"affinity  to 1: refused"}},
		"one in between": {20, 20, []string{"affinity 0-3 to 1: done"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hooked{Machine: changetest.New(t)}
			for _, pid := range []kernel.TID{5, 10, 20, 30} {
				h.Spawn(pid, pid)
			}
			h.Tasks[20].PPID = 10
			h.stat = map[kernel.TID]func() error{tt.read: func() error {
				h.Replace(tt.reused, tt.reused, "other")
				h.Replace(30, 30, "another")
				h.Tasks[30].PPID = tt.reused
				return nil
			}}
			assert.Equal(t, tt.want, brief(apply(t, h.tuner(bare), pin(change.ScopeTree, cpuset.Of(1), 10)).Changes))
			assert.Equal(t, []string{"0-3"}, masks(h.Machine, 30))
		})
	}
}

func TestApplyThreadsThatEndAreNoFailure(t *testing.T) {
	m := changetest.New(t)
	for tid, pid := range map[kernel.TID]kernel.TID{10: 10, 11: 10, 20: 20, 21: 20} {
		m.Spawn(pid, tid)
	}
	tuner := m.Tuner(bare)
	requests := append(pin(change.ScopeProcess, cpuset.Of(1), 10, 20), pin(change.ScopeThread, cpuset.Of(1), 21)...)
	p := plan(t, tuner, requests)
	m.Before("SetAffinity", 10, func() { m.Kill(11); m.Kill(21) })
	assert.Equal(t, []string{
		"affinity 0-3 to 1: done", "affinity 0-3 to 1: unchanged", "affinity 0-3 to 1: done", "affinity 0-3 to 1: failed",
	}, brief(applyPlan(t, tuner, p).Changes), "unless that very thread was asked for")
}

func TestPlanLeavesOutThreadsThatEnded(t *testing.T) {
	m := changetest.New(t)
	for tid := kernel.TID(10); tid < 13; tid++ {
		m.Spawn(10, tid)
	}
	m.Tasks[10].State = 'Z' // the first thread may end before the others
	m.Tasks[12].State = 'X'
	outcome := apply(t, m.Tuner(bare), pin(change.ScopeProcess, cpuset.Of(2), 10))
	assert.Equal(t, []string{"affinity 0-3 to 2: done"}, brief(outcome.Changes))
	assert.Equal(t, kernel.TID(11), outcome.Changes[0].TID)

	m.Before("Affinity", 11, func() { m.Kill(11) }) // it ends after it was listed
	p := plan(t, m.Tuner(bare), pin(change.ScopeProcess, cpuset.Of(2), 10))
	assert.Equal(t, []string{"affinity  to 2: refused"}, brief(p.Changes))
	assert.Equal(t, "10 has ended", p.Changes[0].Reason)
}

// Nobody asked for one process of a tree by its name, so its end is no failure.
func TestEndOfAChildInATree(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(20, 20)
	m.Tasks[20].PPID = 10
	tuner := m.Tuner(bare)
	p := plan(t, tuner, pin(change.ScopeTree, cpuset.Of(1), 10))
	m.Kill(20)
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 0-3 to 1: unchanged"}, brief(outcome.Changes))
	assert.Equal(t, "it ended meanwhile", outcome.Changes[1].Reason)
}

// TestNewbornOfAReusedNumber: what a newborn inherited is of its own creator, and not of what had
// its number before.
func TestNewbornOfAReusedNumber(t *testing.T) {
	m := changetest.New(t)
	m.Write("proc/uptime", "15.00 1.00\n")
	m.Spawn(10, 10)
	m.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(0, 3)})
	m.SpawnAs(30, 30, kernelfake.Task{Affinity: cpuset.Of(0, 2)})
	m.Tasks[20].PPID, m.Tasks[30].PPID = 10, 10
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
	requests := pin(change.ScopeTree, cpuset.Of(1), 10)
	requests[0].Set = append(requests[0].Set, attr.SetNice(5))
	p := plan(t, tuner, requests)
	m.OnList = func(kernel.TID) {
		if len(m.Calls()) == 6 && m.Tasks[20].PPID == 10 {
			m.Kill(20)
			m.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(1), Start: 2000})
			m.Tasks[20].PPID = 30
		}
	}
	applyPlan(t, tuner, p)
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0,2", "0,2"}, masks(m, 10, 20, 30))
}
