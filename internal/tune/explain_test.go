package tune

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// refusal makes one change that the kernel refuses, and returns what became of it.
func refusal(t *testing.T, m *machine, o Options, method string, errno syscall.Errno, s Settings) Change {
	t.Helper()
	if method != "" {
		m.Fail(method, 10, errno)
	}
	result := apply(t, m.tuner(o), []Request{{Targets: []Target{{TID: 10, Scope: ScopeThread}}, Settings: s}})
	require.Len(t, result.Changes, 1)
	return result.Changes[0]
}

func TestRefusalsSayWhy(t *testing.T) {
	cpus := func(c ...cpuset.CPU) Settings { set := cpuset.Of(c...); return Settings{Affinity: &set} }
	nice := func(n int) Settings { return Settings{Nice: &n} }
	policy := func(text string) Settings {
		p, err := ParsePolicy(text)
		require.NoError(t, err)
		return Settings{Policy: &p}
	}
	rt := Settings{IOPrio: &kernel.IOPrio{Class: kernel.IORealTime}}
	limits := func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{Nice: 5, RTPrio: 3}, nil }

	tests := []struct {
		name     string
		method   string
		errno    syscall.Errno
		settings Settings
		rights   bool
		setup    func(*machine)
		status   Status
		want     string
		is       error
	}{
		{name: "per-CPU kernel thread, told beforehand", settings: cpus(1), rights: true, status: Refused,
			setup: func(m *machine) {
				m.tasks[10].Flags, m.tasks[10].Comm = flagKernelThread|flagNoSetAffinity, []byte("ksoftirqd/0")
			},
			want: "ksoftirqd/0 is a kernel thread that belongs to its CPU; the kernel does not let it move"},
		{name: "absent CPU, told beforehand", settings: cpus(7), rights: true, status: Refused,
			want: "CPU 7 is not online here (online: 0-3)"},
		{name: "zombie", settings: cpus(1), rights: true, status: Refused,
			setup: func(m *machine) { m.tasks[10].State = 'Z' },
			want:  "it is a zombie: it has ended and waits for its parent to collect it, so nothing of it will ever run"},
		{name: "cpuset", settings: cpus(3), rights: true, status: Failed,
			setup: func(m *machine) {
				m.Create(10, kerneltest.Task{Affinity: cpuset.Of(0, 1), Cpuset: cpuset.Of(0, 1)})
				m.write("proc/10/cgroup", "3:cpuset:/web\n0::/\n")
				m.write("sys/fs/cgroup/cpuset/web/cpuset.effective_cpus", "0-1\n")
			},
			want: "its cgroup /web allows only CPUs 0-1, and 3 is outside; choose among those, or widen the group's cpuset.cpus"},
		{name: "cpuset of version 2, from the group above", settings: cpus(3), rights: true, status: Failed,
			setup: func(m *machine) {
				m.Create(10, kerneltest.Task{Affinity: cpuset.Of(0), Cpuset: cpuset.Of(0)})
				m.write("proc/10/cgroup", "0::/box/web\n")
				m.write("sys/fs/cgroup/unified/box/cpuset.cpus.effective", "0\n")
			},
			want: "its cgroup /box allows only CPU 0, and 3 is outside; choose among those, or widen the group's cpuset.cpus"},
		{name: "DEADLINE task", method: "SetAffinity", errno: syscall.EBUSY, settings: cpus(1), rights: true, status: Failed,
			want: "it is a DEADLINE task, and those cannot be moved; give it another policy first"},
		{name: "gone", method: "SetAffinity", errno: syscall.ESRCH, settings: cpus(1), rights: true, status: Failed,
			want: "10 has ended", is: ErrGone},
		{name: "another user's", method: "SetAffinity", errno: syscall.EPERM, settings: cpus(1), status: Failed,
			setup: func(m *machine) { m.uid[10] = 4242424 },
			want:  "10 belongs to 4242424; changing others' processes needs CAP_SYS_NICE: " + howToGetRights, is: ErrNotPermitted},
		{name: "nice", method: "SetNice", errno: syscall.EACCES, settings: nice(-5), status: Failed,
			want: "lowering nice from 0 to -5 needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 25, it is 5; \"nice\" in /etc/security/limits.conf): " + howToGetRights,
			is:   ErrNotPermitted},
		{name: "real-time", method: "SetPolicy", errno: syscall.EPERM, settings: policy("fifo:10"), status: Failed,
			want: "real-time policy FIFO:10 needs CAP_SYS_NICE (or a RLIMIT_RTPRIO of at least 10, it is 3; \"rtprio\" in /etc/security/limits.conf): " + howToGetRights,
			is:   ErrNotPermitted},
		{name: "DEADLINE", method: "SetAttr", errno: syscall.EPERM, settings: policy("deadline:5ms/10ms/10ms"), status: Failed,
			want: "DEADLINE:5ms/10ms/10ms needs CAP_SYS_NICE: " + howToGetRights, is: ErrNotPermitted},
		{name: "leaving IDLE", method: "SetPolicy", errno: syscall.EPERM, settings: policy("other"), status: Failed,
			setup: func(m *machine) {
				m.Create(10, kerneltest.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{Policy: kernel.Idle}})
			},
			want: "leaving SCHED_IDLE needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20, it is 5; \"nice\" in /etc/security/limits.conf): " + howToGetRights,
			is:   ErrNotPermitted},
		{name: "dropping reset-on-fork", method: "SetPolicy", errno: syscall.EPERM, settings: policy("other"), status: Failed,
			setup: func(m *machine) {
				m.Create(10, kerneltest.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{ResetOnFork: true}})
			},
			want: "taking reset-on-fork back needs CAP_SYS_NICE: " + howToGetRights, is: ErrNotPermitted},
		{name: "real-time I/O", method: "SetIOPrio", errno: syscall.EPERM, settings: rt, status: Failed,
			want: "I/O priority real-time:0 needs CAP_SYS_NICE: " + howToGetRights, is: ErrNotPermitted},
		{name: "real-time I/O on an old kernel", method: "SetIOPrio", errno: syscall.EPERM, settings: rt, rights: true, status: Failed,
			want: "the kernel refused although CAP_SYS_NICE is held; before Linux 5.14 real-time I/O priority needs CAP_SYS_ADMIN"},
		{name: "RT_GROUP_SCHED, version 1", method: "SetPolicy", errno: syscall.EPERM, settings: policy("rr:5"), rights: true, status: Failed,
			setup: func(m *machine) {
				m.write("proc/10/cgroup", "1:cpu:/box\n")
				m.write("sys/fs/cgroup/cpu/box/cpu.rt_runtime_us", "0\n")
			},
			want: "its cpu cgroup has no real-time budget: ROOT/sys/fs/cgroup/cpu/box/cpu.rt_runtime_us is 0; write some there (its parents must have as much), or move the process to a group that has some"},
		{name: "RT_GROUP_SCHED, version 2", method: "SetPolicy", errno: syscall.EPERM, settings: policy("rr:5"), rights: true, status: Failed,
			setup: func(m *machine) { m.write("proc/10/cgroup", "0::/box\n") },
			want:  "its cgroup /box may not run real-time tasks: a kernel with CONFIG_RT_GROUP_SCHED allows them in the root cgroup only; move the process there, or boot with rt_group_sched=0"},
		{name: "forbidden all the same", method: "SetNice", errno: syscall.EPERM, settings: nice(-5), rights: true, status: Failed,
			want: "CAP_SYS_NICE is held, yet the kernel refused: the process is outside this container's user namespace, or a security module (SELinux, AppArmor, seccomp) forbids it"},
		{name: "policy not built in", method: "SetPolicy", errno: syscall.EINVAL, settings: policy("ext"), rights: true, status: Failed,
			want: "this kernel is built without sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)"},
		{name: "no such call", method: "SetIOPrio", errno: syscall.ENOSYS, settings: rt, rights: true, status: Failed,
			want: "this kernel or container does not offer the call"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.spawn(10, 10)
			if tt.setup != nil {
				tt.setup(m)
			}
			o := Options{Limits: limits}
			if !tt.rights {
				o.Rights = noRights
			}
			c := refusal(t, m, o, tt.method, tt.errno, tt.settings)
			assert.Equal(t, tt.status, c.Status)
			assert.Equal(t, strings.ReplaceAll(tt.want, "ROOT", m.root), c.Reason)
			if tt.is != nil {
				assert.ErrorIs(t, c.Err, tt.is)
			}
		})
	}
}

func TestUnlimitedHints(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	o := Options{Rights: noRights, Limits: func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, syscall.EPERM }}
	n := -1
	c := refusal(t, m, o, "SetNice", syscall.EACCES, Settings{Nice: &n})
	assert.Equal(t, "lowering nice from 0 to -1 needs CAP_SYS_NICE: "+howToGetRights, c.Reason)
}

func TestRootOfAContainerIsToldSo(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.uid[10] = 0
	c := refusal(t, m, Options{Rights: noRights, EUID: func() int { return 0 }}, "SetPolicy", syscall.EPERM, fifo(10))
	assert.Contains(t, c.Reason, "real-time policy FIFO:10 needs CAP_SYS_NICE")
	assert.Contains(t, c.Reason, howAsRoot)
}

func TestChangeJSON(t *testing.T) {
	c := Change{PID: 10, TID: 11, Comm: "a\x1b", Attribute: Affinity, Before: "0-1", After: "1", Status: Failed, Err: syscall.EPERM, Reason: "why"}
	got, err := json.Marshal(c)
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"change","pid":10,"tid":11,"comm":"a\u001b","attribute":"affinity","before":"0-1","after":"1",
		"status":"failed","error":"operation not permitted","reason":"why"}`, string(got))
}

func TestPlanErrors(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	tuner := m.tuner(Options{})
	var usage UsageError
	for _, tid := range []kernel.TID{0, -1} {
		_, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), tid))
		require.ErrorAs(t, err, &usage)
	}
	_, err := tuner.Plan(context.Background(), []Request{{Targets: []Target{{TID: 10}}}})
	require.ErrorAs(t, err, &usage)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = tuner.Plan(ctx, pin(ScopeProcess, cpuset.Of(1), 10))
	require.ErrorIs(t, err, context.Canceled)

	plan, err := tuner.Plan(context.Background(), []Request{{
		Targets: []Target{{TID: 10, StartTicks: 5}}, Settings: pin(0, cpuset.Of(1))[0].Settings,
	}})
	require.NoError(t, err)
	assert.Equal(t, "10 has ended", plan.Changes[0].Reason, "its number means another now")
	assert.Equal(t, Refused, plan.Changes[0].Status)
}
