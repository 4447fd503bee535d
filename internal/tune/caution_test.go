package tune

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func planFor(t *testing.T, tuner *Tuner, s Settings, tids ...kernel.TID) Plan {
	t.Helper()
	r := Request{Settings: s}
	for _, tid := range tids {
		r.Targets = append(r.Targets, Target{TID: tid})
	}
	plan, err := tuner.Plan(context.Background(), []Request{r})
	require.NoError(t, err)
	return plan
}

func fifo(prio int) Settings {
	return Settings{Policy: &PolicySetting{Policy: kernel.FIFO, RTPrio: prio}}
}

const always = uint64(3600e9) // more than any window: always running

func TestRealTimeOnAnIdleTaskIsNoDanger(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	plan := planFor(t, m.tuner(Options{}), fifo(10), 10)
	assert.Empty(t, plan.Trial)
	assert.Empty(t, plan.NeedsYes)
	assert.Empty(t, plan.Warnings)
}

func TestRealTimeOnABusyTaskIsATrial(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.run[10] = always
	plan := planFor(t, m.tuner(Options{}), fifo(10), 10)
	assert.Equal(t, "10 (job) is busy all the time; with FIFO:10 a busy task has its CPU for itself, and ordinary tasks there get 5 % of it", plan.Trial)
	assert.Equal(t, []string{plan.Trial}, plan.Warnings)
	assert.Empty(t, plan.NeedsYes)
	plan = planFor(t, m.tuner(Options{}), Settings{Policy: &PolicySetting{Policy: kernel.Batch}}, 10)
	assert.Empty(t, plan.Trial)
}

// On a starved machine a spinning thread may not get to run for the whole window.
func TestRealTimeOnAQueuedTaskIsATrial(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.tasks[10].State = 'R'
	assert.Contains(t, planFor(t, m.tuner(Options{}), fifo(10), 10).Trial, "busy all the time")
}

func TestRealTimeOnEveryCPUNeedsYes(t *testing.T) {
	m := newMachine(t)
	tids := []kernel.TID{10, 20, 30, 40}
	for _, tid := range tids {
		m.spawn(tid, tid)
		m.run[tid] = always
	}
	tuner := m.tuner(Options{})
	plan := planFor(t, tuner, fifo(10), tids...)
	require.NotEmpty(t, plan.NeedsYes)
	_, err := tuner.Apply(context.Background(), plan)
	require.ErrorIs(t, err, ErrNeedsYes)
	assert.Empty(t, m.Calls())

	// Kept off one CPU by the same plan, they leave that one to others.
	cpus := cpuset.Of(0, 1, 2)
	s := fifo(10)
	s.Affinity = &cpus
	assert.Empty(t, planFor(t, tuner, s, tids...).NeedsYes)
	assert.NotEmpty(t, planFor(t, tuner, s, tids...).Trial)

	plan.Yes = true
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.Equal(t, 4, result.Count(Done))
}

func TestRealTimeForPitonItselfNeedsYes(t *testing.T) {
	m := newMachine(t)
	self := kernel.TID(os.Getpid())
	m.spawn(self, self)
	assert.Contains(t, planFor(t, m.tuner(Options{}), fifo(1), self).NeedsYes, "piton itself")
}

func TestOneWayChangesAreSaidBefore(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	five := 5
	idle := Settings{Policy: &PolicySetting{Policy: kernel.Idle}}
	reset := Settings{Policy: &PolicySetting{ResetOnFork: true}}
	tests := []struct {
		settings Settings
		want     string
	}{
		{Settings{Nice: &five}, "raising nice is one-way without CAP_SYS_NICE: you could not set 0 of 10 back, nor undo this"},
		{idle, "entering SCHED_IDLE is one-way without CAP_SYS_NICE: 10 could not leave it again, nor could you undo this"},
		{reset, "reset-on-fork is one-way without CAP_SYS_NICE: you could not take it from 10 again"},
	}
	for _, tt := range tests {
		assert.Equal(t, []string{tt.want}, planFor(t, m.tuner(Options{Rights: noRights}), tt.settings, 10).Warnings)
		assert.Empty(t, planFor(t, m.tuner(Options{}), tt.settings, 10).Warnings, "root may go back")
	}
	generous := Options{Rights: noRights, Limits: func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{Nice: 20}, nil }}
	assert.Empty(t, planFor(t, m.tuner(generous), Settings{Nice: &five}, 10).Warnings, "RLIMIT_NICE allows the way back")
}

func TestAutogroupMakesNiceMoot(t *testing.T) {
	m := newMachine(t)
	m.auto = true
	m.spawn(10, 10)
	m.spawn(10, 11)
	five := 5
	want := "autogroup is on: nice ranks 10 only against tasks of its own session; to rank its whole session: piton nice --autogroup 10 5"
	assert.Equal(t, []string{want}, planFor(t, m.tuner(Options{}), Settings{Nice: &five}, 10).Warnings, "said once")

	// A cpu cgroup of its own, of either version, switches autogroup off.
	m.write("proc/10/cgroup", "1:cpu:/web\n0::/\n")
	assert.Empty(t, planFor(t, m.tuner(Options{}), Settings{Nice: &five}, 10).Warnings)
	m.write("proc/10/cgroup", "0::/box/web\n")
	assert.Len(t, planFor(t, m.tuner(Options{}), Settings{Nice: &five}, 10).Warnings, 1, "the cpu controller is off there")
	m.write("sys/fs/cgroup/unified/box/cpu.weight", "100\n")
	assert.Empty(t, planFor(t, m.tuner(Options{}), Settings{Nice: &five}, 10).Warnings)
}

func TestPlanWarnsOfCPUsThatAreNotThere(t *testing.T) {
	m := newMachine(t)
	m.spawnAs(10, 10, kerneltest.Task{Affinity: cpuset.Of(0)})
	plan, err := m.tuner(Options{}).Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1, 9), 10))
	require.NoError(t, err)
	assert.Equal(t, []string{"CPU 9 is not online here (online: 0-3); the kernel leaves out what is not"}, plan.Warnings)
}

// The mask of a line or a file keeps CPUs that went offline, and they come back there.
func TestPlanWarnsOfCPUsThatAFileHadNot(t *testing.T) {
	m := newMachine(t)
	tuner := m.tuner(Options{})
	for before, want := range map[string][]string{"0-3": {"irq 24: CPU 9 is not online here (online: 0-3)"}, "0-3,9": nil} {
		plan, err := tuner.Plan(context.Background(), moveIRQ(m.line("24", "eth0", before), "irq 24", "1,9"))
		require.NoError(t, err)
		assert.Equal(t, want, plan.Warnings, before)
	}
}
