package tune

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// bornWhileApplied applies a request to process 10, and has threads born before the
// first look for such.
func bornWhileApplied(t *testing.T, m *machine, s PolicySetting, born func()) Result {
	t.Helper()
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), []Request{{Targets: []Target{{TID: 10}}, Settings: Settings{Policy: &s}}})
	require.NoError(t, err)
	plan.Yes = true
	m.onTID = func(kernel.TID) {
		if born != nil {
			born()
			born = nil
		}
	}
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	return result
}

// A bare priority is for threads that are real-time; ordinary ones are refused it.
func TestNewbornGetsWhatIsAskedOfItsKind(t *testing.T) {
	m := newMachine(t)
	all := cpuset.Of(0, 1, 2, 3)
	m.spawnAs(10, 10, kerneltest.Task{Affinity: all, Attr: kernel.SchedAttr{Policy: kernel.FIFO, RTPrio: 5}})
	bornWhileApplied(t, m, PolicySetting{Keep: true, RTPrio: 20}, func() {
		m.spawn(10, 11)
		m.spawnAs(10, 12, kerneltest.Task{Affinity: all, Attr: kernel.SchedAttr{Policy: kernel.RR, RTPrio: 5}})
	})
	assert.Equal(t, "FIFO:20", formatPolicy(m.Task(10).Attr))
	assert.Equal(t, "OTHER", formatPolicy(m.Task(11).Attr))
	assert.Equal(t, "RR:20", formatPolicy(m.Task(12).Attr))
}

// A child that the kernel made ordinary, because that was asked for, stays so.
func TestResetOnForkHoldsForNewborns(t *testing.T) {
	m := newMachine(t)
	m.write("proc/uptime", "20.00 1.00\n")
	m.spawn(10, 10) // started at tick 1010
	bornWhileApplied(t, m, PolicySetting{Policy: kernel.FIFO, RTPrio: 10, ResetOnFork: true}, func() {
		m.spawn(10, 11) // by a thread that had not been changed yet
		m.spawn(10, 12)
		m.tasks[12].StartTicks = 2001
	})
	assert.Equal(t, "FIFO:10,reset-on-fork", formatPolicy(m.Task(11).Attr))
	assert.Equal(t, "OTHER", formatPolicy(m.Task(12).Attr))
}

// Nobody asked for one process of a tree by its name, so its end is no failure.
func TestEndOfAChildInATree(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.spawn(20, 20)
	m.tasks[20].PPID = 10
	tuner := m.tuner(Options{})
	plan, err := tuner.Plan(context.Background(), pin(ScopeTree, cpuset.Of(1), 10))
	require.NoError(t, err)
	m.end(20)
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 0-3 to 1: unchanged"}, outcome(result.Changes))
	assert.Equal(t, "it ended meanwhile", result.Changes[1].Reason)
}
