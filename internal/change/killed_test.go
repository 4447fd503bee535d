package change_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
)

// mortal is a piton that is killed at its n-th write to the kernel: before it, or when
// it was made and before anything else.
type mortal struct {
	kernel.Writer
	kernel.SettingsWriter
	left  int
	after bool
}

type killed struct{}

func (p *mortal) write(f func() error) error {
	if p.left--; p.left >= 0 {
		return f()
	}
	if p.after {
		_ = f()
	}
	panic(killed{})
}

func (p *mortal) Hold(pid kernel.TID, start uint64) (kernel.Process, error) {
	held, err := p.Writer.Hold(pid, start)
	return mortalProcess{held, p}, err
}

func (p *mortal) WriteSetting(path, text string) error {
	return p.write(func() error { return p.SettingsWriter.WriteSetting(path, text) })
}

type mortalProcess struct {
	kernel.Process
	*mortal
}

func (p mortalProcess) Thread(tid kernel.TID, start uint64) kernel.Task {
	return mortalTask{p.Process.Thread(tid, start), p.mortal}
}

type mortalTask struct {
	kernel.Task
	*mortal
}

func (t mortalTask) SetAffinity(cpus cpuset.Set) error {
	return t.write(func() error { return t.Task.SetAffinity(cpus) })
}

func (t mortalTask) SetNice(nice int) error {
	return t.write(func() error { return t.Task.SetNice(nice) })
}

func (t mortalTask) SetSlice(ns uint64) error {
	return t.write(func() error { return t.Task.SetSlice(ns) })
}

func (t mortalTask) SetPolicy(policy kernel.Policy, rtprio int, reset bool) error {
	return t.write(func() error { return t.Task.SetPolicy(policy, rtprio, reset) })
}

// stacked is a machine with a change in force, how it was before that, and what a
// second one asks for.
func stacked(t *testing.T) (m *changetest.Machine, j *journal.Journal, original string, second []change.Request) {
	m = changetest.New(t)
	m.Write("proc/uptime", "100.00 1.00\n")
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	m.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(1), Attr: kernel.SchedAttr{Nice: 3}}) // has what the first one sets
	const flows = "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt"
	m.Settings.Put(flows, "0\n")
	m.Settings.Store = func(path, text string) (string, error) {
		if path == flows && text == "1000\n" {
			text = "1024\n" // the kernel rounds it up
		}
		return text, nil
	}
	m.Line("24", "eth0", "0-3")
	j = journal.New(&journal.Memory{}, journal.Where{Boot: "this"})
	set := func(cpu cpuset.CPU, nice int, n attr.Count, more ...attr.Setting) []change.Request {
		r := changetest.Set(append(more, attr.SetAffinity(cpuset.Of(cpu)), attr.SetNice(nice)), 10, 20)
		r[0].Files = []attr.FileSetting{attr.SetIRQ(24, "irq 24", cpuset.Of(cpu)), attr.SetFile(attr.RPSFlows, flows, "eth0 rx-0", n)}
		return r
	}
	original = state(m)
	apply(t, m.Tuner(change.Options{Journal: j}), set(1, 3, 512))
	return m, j, original, set(2, 5, 1000, attr.SetSlice(5*time.Millisecond), attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 5}))
}

// state is all that the requests are about.
func state(m *changetest.Machine) string {
	out := fmt.Sprintln(m.Settings.All())
	for _, tid := range []kernel.TID{10, 11, 20} {
		task := m.Task(tid)
		out += fmt.Sprintln(tid, task.Affinity, task.Attr)
	}
	return out
}

// TestUndoAfterAKillAtAnyWrite: of two changes in force the second was killed, and its
// entry has no end. An undo of all restores everything, whatever the second got to.
func TestUndoAfterAKillAtAnyWrite(t *testing.T) {
	for name, onebyone := range map[string]bool{"at once": false, "one by one": true} {
		for _, made := range []bool{false, true} {
			for n := 0; undoAfterAKill(t, fmt.Sprintf("%s, killed at write %d, which was made: %t", name, n, made), n, made, onebyone); n++ {
			}
		}
	}
}

// undoAfterAKill reports whether the second change got to the n-th write.
func undoAfterAKill(t *testing.T, name string, n int, made, onebyone bool) bool {
	m, j, original, second := stacked(t)
	first := state(m)
	o := change.Options{Journal: j}
	tuner := m.Tuner(o)
	p := plan(t, tuner, second)
	writer := &mortal{Writer: m.Fake, SettingsWriter: m.Settings, left: n, after: made}
	o.Sources, o.Writer, o.FileWriter = m.Sources(), writer, writer
	if !dies(t, change.New(o), p) {
		require.Greater(t, n, 10)
		return false
	}
	entries := changetest.Entries(t, j)
	require.Len(t, entries, 2, name)
	require.False(t, entries[1].Finished, name)

	if onebyone {
		outcome := undo(t, tuner, change.UndoRequest{Last: 1})
		assert.Equal(t, first, state(m), "%s\n%v", name, brief(outcome.Changes))
		assert.Equal(t, change.AllDone, outcome.Verdict(), name)
	}
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, original, state(m), "%s\n%v", name, brief(outcome.Changes))
	assert.Equal(t, change.AllDone, outcome.Verdict(), name)
	_, err := tuner.Undo(t.Context(), change.UndoRequest{All: true})
	require.ErrorIs(t, err, change.ErrNothingToUndo, name)
	return true
}

// dies reports whether a mortal piton was killed while it carried out a plan.
func dies(t *testing.T, tuner *change.Tuner, p change.Plan) (dead bool) {
	defer func() { dead = recover() == killed{} }()
	applyPlan(t, tuner, p)
	return false
}

// TestUndoAfterAKillBelievesThoseThatLive: what a child has is explained by a thread that was
// changed for sure, and not by one that has ended and may never have been.
func TestUndoAfterAKillBelievesThoseThatLive(t *testing.T) {
	m := changetest.New(t)
	m.Write("proc/uptime", "100.00 1.00\n")
	m.Spawn(10, 10)
	m.SpawnAs(10, 11, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Attr: kernel.SchedAttr{Nice: 5}})
	o := change.Options{Journal: changetest.Journal(t)}
	p := plan(t, m.Tuner(o), changetest.Set([]attr.Setting{attr.SetNice(10)}, 10))
	writer := &mortal{Writer: m.Fake, SettingsWriter: m.Settings, left: 1}
	dying := o
	dying.Sources, dying.Writer, dying.FileWriter = m.Sources(), writer, writer
	require.True(t, dies(t, change.New(dying), p), "between the two threads")
	require.Equal(t, 10, m.Task(10).Attr.Nice)

	m.Kill(11)
	m.SpawnAs(30, 30, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Attr: kernel.SchedAttr{Nice: 10}, Start: 20000})
	m.Tasks[30].PPID = 10
	undo(t, m.Tuner(o), change.UndoRequest{All: true})
	assert.Zero(t, m.Task(10).Attr.Nice)
	assert.Zero(t, m.Task(30).Attr.Nice)
}
