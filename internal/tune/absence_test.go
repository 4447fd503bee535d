package tune

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func TestDeadlineRefusalsSayWhy(t *testing.T) {
	setting := PolicySetting{Policy: kernel.Deadline, Runtime: time.Millisecond, Deadline: 2 * time.Millisecond, Period: 4 * time.Millisecond}
	for _, tt := range []struct {
		name   string
		mask   cpuset.Set
		errno  syscall.Errno
		reason string
	}{
		{"pinned", cpuset.Of(1, 2), syscall.EPERM, "it is pinned to CPUs 1-2, and a DEADLINE task must be free to run on every CPU of its root domain; " +
			"widen its affinity first (online: 0-3), or make a domain of those CPUs by a cpuset partition"},
		{"of another domain", cpuset.Of(0, 1, 2, 3), syscall.EPERM, "DEADLINE needs a task that may run on every CPU of its root domain; widen its affinity first"},
		{"no bandwidth", cpuset.Of(0, 1, 2, 3), syscall.EBUSY, "the CPUs have no DEADLINE bandwidth left for it (sched_rt_runtime_us and other DEADLINE tasks bound it)"},
		{"period", cpuset.Of(0, 1, 2, 3), syscall.EINVAL, "the kernel does not accept DEADLINE:1ms/2ms/4ms: its period must be 100 to 4194304 µs " +
			"(kernel.sched_deadline_period_min_us and _max_us)"},
	} {
		m := newMachine(t)
		m.spawnAs(10, 10, kerneltest.Task{Affinity: tt.mask})
		m.sysctls = map[string]int64{"kernel/sched_deadline_period_min_us": 100, "kernel/sched_deadline_period_max_us": 4194304}
		m.Fail("SetAttr", 10, tt.errno)
		result := apply(t, m.tuner(Options{}), []Request{{Targets: []Target{{TID: 10}}, Settings: Settings{Policy: &setting}}})
		assert.Equal(t, tt.reason, result.Changes[0].Reason, tt.name)
		assert.ErrorIs(t, result.Changes[0].Err, tt.errno)
	}
	m := newMachine(t)
	m.spawn(10, 10)
	m.sysctls = map[string]int64{"kernel/sched_rt_runtime_us": 0}
	m.Fail("SetAttr", 10, syscall.EPERM)
	result := apply(t, m.tuner(Options{}), []Request{{Targets: []Target{{TID: 10}}, Settings: Settings{Policy: &setting}}})
	assert.Equal(t, "the machine gives real-time tasks no time: kernel.sched_rt_runtime_us is 0", result.Changes[0].Reason)
}

func TestMemoryRefusalsSayWhy(t *testing.T) {
	for _, tt := range []struct {
		errno  syscall.Errno
		rights func() (kernel.Capabilities, error)
		reason string
	}{
		{syscall.EINVAL, nil, "its cpuset allows no memory on node 1: widen the group's cpuset.mems"},
		{syscall.EPERM, nil, "the memory of others' processes needs CAP_SYS_PTRACE as well"},
		{syscall.EPERM, noRights, "the memory of 10 needs CAP_SYS_PTRACE: run piton with sudo"},
		{syscall.ENOSYS, nil, "this kernel is built without NUMA (CONFIG_NUMA): there is one memory for all CPUs"},
	} {
		m := newMachine(t)
		m.numa()
		m.spawn(10, 10)
		m.write("proc/10/numa_maps", onNode0)
		m.Fail("MigratePages", 10, tt.errno)
		result := apply(t, m.tuner(Options{Rights: tt.rights}), follows(cpuset.Of(2), 10))
		require.Len(t, result.Changes, 2)
		assert.Equal(t, Done, result.Changes[0].Status, "the pin is not held back by it")
		assert.Equal(t, Failed, result.Changes[1].Status)
		assert.Equal(t, tt.reason, result.Changes[1].Reason)
	}
}
