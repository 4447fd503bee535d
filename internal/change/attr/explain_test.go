package attr_test

import (
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
	"piton/internal/kernel/kernelfake"
)

// refusal makes one change that the kernel refuses, and returns what became of it.
func refusal(t *testing.T, m *changetest.Machine, o change.Options, method string, errno syscall.Errno, s attr.Setting) attr.Change {
	t.Helper()
	if method != "" {
		m.Fail(method, 10, errno)
	}
	outcome := changetest.Apply(t, m.Tuner(o), changetest.One(s, 10))
	require.Len(t, outcome.Changes, 1)
	return outcome.Changes[0]
}

func withRights(rights func() (kernel.Capabilities, error)) change.Options {
	return change.Options{Sources: attr.Sources{Rights: rights}}
}

func policy(t *testing.T, text string) attr.Setting {
	t.Helper()
	p, err := attr.Policy.Parse(text)
	require.NoError(t, err)
	return attr.SetPolicy(attr.PolicyOf(p))
}

func TestRefusalsSayWhy(t *testing.T) {
	cpus := func(c ...cpuset.CPU) attr.Setting { return attr.SetAffinity(cpuset.Of(c...)) }
	rt := attr.SetIOPrio(kernel.IOPrio{Class: kernel.IORealTime})
	tests := []struct {
		name   string
		method string
		errno  syscall.Errno
		set    attr.Setting
		rights bool
		setup  func(*changetest.Machine)
		status attr.Status
		want   string
		is     error
	}{
		{name: "per-CPU kernel thread, told beforehand", set: cpus(1), rights: true, status: attr.Refused,
			setup: func(m *changetest.Machine) {
				m.Tasks[10].Flags, m.Tasks[10].Comm = 0x04200000, []byte("ksoftirqd/0") // PF_KTHREAD, PF_NO_SETAFFINITY
			},
			want: "ksoftirqd/0 is a kernel thread that belongs to its CPU; the kernel does not let it move"},
		{name: "unbound worker", set: cpus(1), rights: true, status: attr.Refused,
			setup: func(m *changetest.Machine) {
				m.Tasks[10].Flags, m.Tasks[10].Comm = 0x04200000, []byte("kworker/u8:3-events_unbound")
			},
			want: "kworker/u8:3-events_unbound is a kernel thread that the kernel does not let move; " +
				"the cpumask of its workqueue decides: /sys/devices/virtual/workqueue/cpumask is that of all"},
		{name: "absent CPU, told beforehand", set: cpus(7), rights: true, status: attr.Refused,
			want: "CPU 7 is not online here (online: 0-3)"},
		{name: "zombie", set: cpus(1), rights: true, status: attr.Refused,
			setup: func(m *changetest.Machine) { m.Tasks[10].State = 'Z' },
			want:  "it is a zombie: it has ended and waits for its parent to collect it, so nothing of it will ever run"},
		{name: "cpuset", set: cpus(3), rights: true, status: attr.Failed,
			setup: func(m *changetest.Machine) {
				m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
				m.Write("proc/10/cgroup", "3:cpuset:/web\n0::/\n")
				m.Write("sys/fs/cgroup/cpuset/web/cpuset.effective_cpus", "0-1\n")
			},
			want: "its cgroup /web allows only CPUs 0-1, and 3 is outside; choose among those, or widen the group's cpuset.cpus"},
		{name: "cpuset of version 2, from the group above", set: cpus(3), rights: true, status: attr.Failed,
			setup: func(m *changetest.Machine) {
				m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0), Cpuset: cpuset.Of(0)})
				m.Write("proc/10/cgroup", "0::/box/web\n")
				m.Write("sys/fs/cgroup/unified/box/cpuset.cpus.effective", "0\n")
			},
			want: "its cgroup /box allows only CPU 0, and 3 is outside; choose among those, or widen the group's cpuset.cpus"},
		{name: "DEADLINE task", method: "SetAffinity", errno: syscall.EBUSY, set: cpus(1), rights: true, status: attr.Failed,
			want: "it is a DEADLINE task, and those cannot be moved; give it another policy first"},
		{name: "gone", method: "SetAffinity", errno: syscall.ESRCH, set: cpus(1), rights: true, status: attr.Failed,
			want: "10 has ended", is: attr.ErrGone},
		{name: "another user's", method: "SetAffinity", errno: syscall.EPERM, set: cpus(1), status: attr.Failed,
			setup: func(m *changetest.Machine) { m.Tasks[10].UID = 4242424 },
			want:  "10 belongs to 4242424; changing others' processes needs CAP_SYS_NICE: " + attr.HowToGetRights, is: attr.ErrNotPermitted},
		{name: "nice", method: "SetNice", errno: syscall.EACCES, set: attr.SetNice(-5), status: attr.Failed,
			want: "lowering nice from 0 to -5 needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 25, it is 5; \"nice\" in /etc/security/limits.conf): " + attr.HowToGetRights,
			is:   attr.ErrNotPermitted},
		{name: "real-time", method: "SetPolicy", errno: syscall.EPERM, set: policy(t, "fifo:10"), status: attr.Failed,
			want: "real-time policy FIFO:10 needs CAP_SYS_NICE (or a RLIMIT_RTPRIO of at least 10, it is 3; \"rtprio\" in /etc/security/limits.conf): " + attr.HowToGetRights,
			is:   attr.ErrNotPermitted},
		{name: "DEADLINE", method: "SetAttr", errno: syscall.EPERM, set: policy(t, "deadline:5ms/10ms/10ms"), status: attr.Failed,
			want: "DEADLINE:5ms/10ms/10ms needs CAP_SYS_NICE: " + attr.HowToGetRights, is: attr.ErrNotPermitted},
		{name: "leaving IDLE", method: "SetPolicy", errno: syscall.EPERM, set: policy(t, "other"), status: attr.Failed,
			setup: func(m *changetest.Machine) {
				m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{Policy: kernel.Idle}})
			},
			want: "leaving SCHED_IDLE needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20, it is 5; \"nice\" in /etc/security/limits.conf): " + attr.HowToGetRights,
			is:   attr.ErrNotPermitted},
		{name: "dropping reset-on-fork", method: "SetPolicy", errno: syscall.EPERM, set: policy(t, "other"), status: attr.Failed,
			setup: func(m *changetest.Machine) {
				m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{ResetOnFork: true}})
			},
			want: "dropping reset-on-fork needs CAP_SYS_NICE: " + attr.HowToGetRights, is: attr.ErrNotPermitted},
		{name: "real-time I/O", method: "SetIOPrio", errno: syscall.EPERM, set: rt, status: attr.Failed,
			want: "I/O priority real-time:0 needs CAP_SYS_NICE: " + attr.HowToGetRights, is: attr.ErrNotPermitted},
		{name: "real-time I/O on an old kernel", method: "SetIOPrio", errno: syscall.EPERM, set: rt, rights: true, status: attr.Failed,
			want: "the kernel refused although CAP_SYS_NICE is held; before Linux 5.14 real-time I/O priority needs CAP_SYS_ADMIN"},
		{name: "RT_GROUP_SCHED, version 1", method: "SetPolicy", errno: syscall.EPERM, set: policy(t, "rr:5"), rights: true, status: attr.Failed,
			setup: func(m *changetest.Machine) {
				m.Write("proc/10/cgroup", "1:cpu:/box\n")
				m.Write("sys/fs/cgroup/cpu/box/cpu.rt_runtime_us", "0\n")
			},
			want: "its cpu cgroup has no real-time budget: ROOT/sys/fs/cgroup/cpu/box/cpu.rt_runtime_us is 0; write some there (its parents must have as much), or move the process to a group that has some"},
		{name: "RT_GROUP_SCHED, version 2", method: "SetPolicy", errno: syscall.EPERM, set: policy(t, "rr:5"), rights: true, status: attr.Failed,
			setup: func(m *changetest.Machine) { m.Write("proc/10/cgroup", "0::/box\n") },
			want:  "its cgroup /box may not run real-time tasks: a kernel with CONFIG_RT_GROUP_SCHED allows them in the root cgroup only; move the process there, or boot with rt_group_sched=0"},
		{name: "forbidden all the same", method: "SetNice", errno: syscall.EPERM, set: attr.SetNice(-5), rights: true, status: attr.Failed,
			want: "CAP_SYS_NICE is held, yet the kernel refused: the process is outside this container's user namespace, or a security module (SELinux, AppArmor, seccomp) forbids it"},
		{name: "no such call", method: "SetIOPrio", errno: syscall.ENOSYS, set: rt, rights: true, status: attr.Failed,
			want: "this kernel or container does not offer the call"},
		{name: "autogroup too often", method: "WriteFile", errno: syscall.EAGAIN, set: attr.Setting{Attribute: attr.Autogroup, Value: attr.NiceValue(5)}, status: attr.Failed,
			want: "the kernel takes one such change in a tenth of a second from ordinary users: try again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := changetest.New(t)
			m.Spawn(10, 10)
			if tt.setup != nil {
				tt.setup(m)
			}
			o := change.Options{Sources: attr.Sources{Limits: func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{Nice: 5, RTPrio: 3}, nil }}}
			if !tt.rights {
				o.Rights = changetest.NoRights
			}
			c := refusal(t, m, o, tt.method, tt.errno, tt.set)
			assert.Equal(t, tt.status, c.Status)
			assert.Equal(t, strings.ReplaceAll(tt.want, "ROOT", m.Dir), c.Reason)
			if tt.is != nil {
				assert.ErrorIs(t, c.Err, tt.is)
			}
		})
	}
}

func TestUnlimitedHints(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	o := withRights(changetest.NoRights)
	o.Limits = func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, syscall.EPERM }
	c := refusal(t, m, o, "SetNice", syscall.EACCES, attr.SetNice(-1))
	assert.Equal(t, "lowering nice from 0 to -1 needs CAP_SYS_NICE: "+attr.HowToGetRights, c.Reason)
}

func TestRootOfAContainerIsToldSo(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Tasks[10].UID = 0
	o := withRights(changetest.NoRights)
	o.EUID = func() int { return 0 }
	c := refusal(t, m, o, "SetPolicy", syscall.EPERM, policy(t, "fifo:10"))
	assert.Contains(t, c.Reason, "real-time policy FIFO:10 needs CAP_SYS_NICE")
	assert.Contains(t, c.Reason, attr.HowAsRoot)
}

func TestAbsentFromThisKernel(t *testing.T) {
	for _, tt := range []struct {
		method string
		errno  syscall.Errno
		set    attr.Setting
		reason string
	}{
		{"Clamp", syscall.EOPNOTSUPP, attr.Setting{Attribute: attr.Clamp, Value: attr.ClampValue{}}, "this kernel has no uclamp (CONFIG_UCLAMP_TASK)"},
		{"Cookie", syscall.EINVAL, attr.SetCookie(attr.CookieValue{New: true}), "this kernel has no core scheduling (CONFIG_SCHED_CORE)"},
		{"Cookie", syscall.ENODEV, attr.SetCookie(attr.CookieValue{}), "core scheduling is for machines with SMT, and this one has none or has it switched off"},
		{"SetPolicy", syscall.EINVAL, policy(t, "ext"), "this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)"},
	} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		c := refusal(t, m, change.Options{}, tt.method, tt.errno, tt.set)
		assert.Equal(t, tt.reason, c.Reason)
		assert.ErrorIs(t, c.Err, attr.ErrNotSupported)
	}
}

func TestDeadlineRefusalsSayWhy(t *testing.T) {
	set := attr.SetPolicy(attr.PolicyValue{Policy: kernel.Deadline, Runtime: time.Millisecond, Deadline: 2 * time.Millisecond, Period: 4 * time.Millisecond})
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
		m := changetest.New(t)
		m.SpawnAs(10, 10, kernelfake.Task{Affinity: tt.mask})
		m.Sysctls["kernel/sched_deadline_period_min_us"], m.Sysctls["kernel/sched_deadline_period_max_us"] = 100, 4194304
		c := refusal(t, m, change.Options{}, "SetAttr", tt.errno, set)
		assert.Equal(t, tt.reason, c.Reason, tt.name)
		assert.ErrorIs(t, c.Err, tt.errno)
	}
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Sysctls["kernel/sched_rt_runtime_us"] = 0
	c := refusal(t, m, change.Options{}, "SetAttr", syscall.EPERM, set)
	assert.Equal(t, "the machine gives real-time tasks no time: kernel.sched_rt_runtime_us is 0", c.Reason)
}

func TestMemoryRefusalsSayWhy(t *testing.T) {
	for _, tt := range []struct {
		errno  syscall.Errno
		rights func() (kernel.Capabilities, error)
		reason string
	}{
		{syscall.EINVAL, nil, "its cpuset allows no memory on node 1: widen the group's cpuset.mems"},
		{syscall.EPERM, nil, "memory on node 1 needs CAP_SYS_PTRACE: run piton with sudo"},
		{syscall.EPERM, changetest.NoRights, "memory on node 1 needs CAP_SYS_PTRACE: run piton with sudo"},
		{syscall.ENOSYS, nil, "this kernel has no NUMA nodes (CONFIG_NUMA): there is one memory for all CPUs"},
	} {
		m := changetest.New(t)
		twoNodes(m)
		m.Spawn(10, 10)
		m.Write("proc/10/numa_maps", onNode0)
		m.Fail("MigratePages", 10, tt.errno)
		outcome := changetest.Apply(t, m.Tuner(withRights(tt.rights)), follows(cpuset.Of(2), 10))
		require.Len(t, outcome.Changes, 2)
		assert.Equal(t, attr.Done, outcome.Changes[0].Status, "the pin is not held back by it")
		assert.Equal(t, attr.Failed, outcome.Changes[1].Status)
		assert.Equal(t, tt.reason, outcome.Changes[1].Reason)
	}
}

// What looks into other processes takes CAP_SYS_PTRACE, whoever owns them.
func TestRightsToTrace(t *testing.T) {
	for _, tt := range []struct {
		held   kernel.Capability
		reason string
		is     error
	}{
		{kernel.CapSysNice, "10 belongs to 4242424; changing others' processes needs CAP_SYS_PTRACE: run piton with sudo", attr.ErrNotPermitted},
		{kernel.CapSysPtrace, "CAP_SYS_PTRACE is held, yet the kernel refused: the process is outside this container's user namespace, " +
			"or a security module (SELinux, AppArmor, seccomp) forbids it", syscall.EPERM},
	} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		m.Tasks[10].UID = 4242424
		o := withRights(func() (kernel.Capabilities, error) { return 1 << tt.held, nil })
		c := refusal(t, m, o, "Cookie", syscall.EPERM, attr.SetCookie(attr.CookieValue{New: true}))
		assert.Equal(t, tt.reason, c.Reason)
		assert.ErrorIs(t, c.Err, tt.is)
	}
}
