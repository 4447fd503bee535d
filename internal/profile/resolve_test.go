package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/partition"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

func parsed(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := Parse([]byte("version = 1\n" + text))
	require.NoError(t, err)
	return p
}

// drift is what drifted in a form that reads well.
func drift(r *Resolution) []string {
	var out []string
	for _, w := range r.Drift() {
		text := fmt.Sprintf("%d %s %s: %s → %s", w.TID, w.Name, w.Attribute, w.Actual, w.Expected)
		if w.Blocked != "" {
			text += " (" + w.Blocked + ")"
		}
		out = append(out, text)
	}
	return out
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name, text string
		drift      []string
		missing    []string
	}{
		{"as it is", "[[task]]\nname='jackd'\npolicy='fifo:10,reset-on-fork'\nioprio='rt:2'\ncpus='online'", nil, nil},
		{"whole process", "[[task]]\nname='java'\ncgroup='*/a.service'\nnice=5", []string{"202 G1 *Conc nice: 10 → 5"}, nil},
		{"later items win", "[[task]]\nname='java'\ncommand='a.jar'\nnice=5\n[[task]]\nname='java'\nthread='G1 *'\nnice=10\n", nil, nil},
		{"thread only", "[[task]]\nname='java'\nthread='GC*'\nnice=0", []string{"201 GC Thread#0 nice: 5 → 0"}, nil},
		{"user tasks only", "[[task]]\ncommand='rcu'\nnice=1", nil, []string{`[[task]] of line 2: nothing has command "rcu"`}},
		{"kernel thread", "[[kthread]]\nname='rcu_*'\npolicy='other'\ncpus='0-1'", []string{"7 rcu_preempt policy: FIFO:2 → OTHER"}, nil},
		{"its command", "[[kthread]]\ncommand='^\\[kswapd0\\]$'\nnice=1", []string{"5 kswapd0 nice: 0 → 1"}, nil},
		{"only offline CPUs", "[[task]]\nname='jackd'\ncpus='8-9'", []string{"400 jackd affinity: 0-7 → 8-9 (none of 8-9 is online)"}, nil},
		{"no such node", "[[task]]\nname='jackd'\ncpus='node:7'\nnice=3\noptional=true", []string{
			`400 jackd affinity: 0-7 → node:7 (CPUS "node:7": this machine has no node 7, it has 0-1)`, "400 jackd nice: 0 → 3"}, nil},
		{"no such node for one", "[[task]]\nname='nginx'\ncommand='worker'\ncpus_each=['0-1','node:7','2']", []string{
			"101 nginx affinity: 0 → 0-1", `102 nginx affinity: 1 → node:7 (CPUS "node:7": this machine has no node 7, it has 0-1)`}, nil},
		{"irq", "[[irq]]\naction='eth*'\ncpus='2'", []string{"0 irq 25 (eth1) irq-affinity: 0-7 → 2"}, nil},
		{"no irq", "[[irq]]\ndevice='sda'\ncpus='2'\n[[irq]]\ndevice='sdb'\ncpus='2'\noptional=true", nil, []string{`[[irq]] of line 2: nothing has device "sda"`}},
		{"queues", "[[queue]]\nnic='eth*'\nqueue='rx-*'\nrps='node:0'\nrps_flows=4000", []string{
			"0 eth0 rx-1 rps-cpus:  → 0-3", "0 eth0 rx-1 rps-flow-cnt: 0 → 4000"}, nil},
		{"steering off", "[[queue]]\nnic='eth0'\nqueue='rx-0'\nrps=''\n[[queue]]\nnic='eth0'\nqueue='tx-0'\nxps='0'", []string{"0 eth0 rx-0 rps-cpus: 0-3 → "}, nil},
		{"machine", "[machine]\ndefault_irq_affinity='0-3'\nworkqueue_cpus='0-1'", []string{"0 default of new IRQs default-irq-affinity: 0-7 → 0-3"}, nil},
		{"sysctls", "[sysctl]\n'kernel.numa_balancing'=0\n'kernel.nosuch'=1\n'-kernel.other'=1\n'net.core.rps_sock_flow_entries'=30000\n'net.ipv4.tcp_mem'='1 2 3'",
			[]string{"0 kernel.numa_balancing sysctl: 1 → 0"}, []string{`[sysctl] of line 4: nothing has the name kernel.nosuch`}},
		{"sysctl glob", "[sysctl]\n'net.ipv4.conf.*.forwarding'='1'",
			[]string{"0 net.ipv4.conf.eth0/1.forwarding sysctl: 0 → 1", "0 net.ipv4.conf.eth1.forwarding sysctl: 0 → 1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Resolve(parsed(t, tt.text), tuned().State)
			assert.Equal(t, tt.drift, drift(r))
			var missing []string
			for _, m := range r.Required() {
				missing = append(missing, m.String())
			}
			require.Len(t, missing, len(tt.missing), "%v", missing)
			for i := range missing {
				assert.Contains(t, missing[i], tt.missing[i])
			}
		})
	}
}

func TestResolveCuts(t *testing.T) {
	m := tuned()
	p := parsed(t, "[[task]]\nname='/^12$/'\ncpus='4-9'\n[[task]]\nname='nginx'\ncommand='master'\ncpus='0-3'\n")
	require.Equal(t, []string{"100 nginx affinity: 0-7 → 0-3"}, drift(Resolve(p, m.State)), "CPUs that are offline are no drift")
	m.Cpuset = func(_ kernel.TID) (cpuset.Set, error) { return set("0-7"), nil }
	m.task(100).Affinity = set("0-1")
	assert.NotEmpty(t, drift(Resolve(p, m.State)))
	m.Cpuset = func(pid kernel.TID) (cpuset.Set, error) {
		if pid == 100 {
			return set("0-1,5"), nil
		}
		return set("0-7"), nil
	}
	assert.Empty(t, drift(Resolve(p, m.State)), "what the cpuset cuts off is no drift")
}

func TestResolveIsolation(t *testing.T) {
	m := tuned()
	own := partition.Mask{Attribute: attr.WorkqueueMask, Path: "/sys/devices/virtual/workqueue/writeback/cpumask", Name: "workqueue writeback", CPUs: set("0-7")}
	fixed := partition.Mask{Attribute: attr.WorkqueueMask, Path: "/fixed", Name: "fixed", CPUs: set("0-7"), ReadOnly: true}
	m.Masks = append(m.masks(), own, fixed)
	r := Resolve(parsed(t, "[isolation]\ncpus='6-7'\n[[task]]\nname='jackd'\ncpus='6-7'\n[[irq]]\naction='eth1'\ncpus='6'\n"), m.State)
	got := drift(r)
	assert.Contains(t, got, "0 default of new IRQs default-irq-affinity: 0-7 → 0-5")
	assert.Contains(t, got, "0 workqueue writeback workqueue-cpumask: 0-7 → 0-5")
	assert.NotContains(t, strings.Join(got, "\n"), "fixed")
	assert.Contains(t, got, "1 systemd affinity: 0-7 → 0-5")
	assert.Contains(t, got, "2 kthreadd affinity: 0-7 → 0-5")
	assert.Contains(t, got, "202 G1 *Conc affinity: 6-7 → 0-5")
	assert.Contains(t, got, "400 jackd affinity: 0-7 → 6-7", "an item sends it there")
	assert.Contains(t, got, "0 irq 25 (eth1) irq-affinity: 0-7 → 6", "an item sends it there")
	for _, w := range r.Drift() {
		assert.NotContains(t, []int{3, 101, 102, 103}, int(w.TID), "%v is not on those CPUs, or cannot move", w)
	}
	m.Apart = set("4-5")
	assert.Contains(t, drift(Resolve(parsed(t, "[isolation]\ncpus='6-7'\n"), m.State)), "202 G1 *Conc affinity: 6-7 → 0-3", "not to CPUs that are apart already")
	assert.Equal(t, "6-7", r.Isolates.String())
	assert.Equal(t, "0-5", r.Rest.String())
	assert.True(t, r.SetsApart())
	assert.False(t, Resolve(parsed(t, "[[task]]\nname='jackd'\ncpus='6-7'\n"), m.State).SetsApart())
}

// TestOfflineCPUsStay: what is not online now stays in the masks that an isolation sets, and in
// what is saved.
func TestOfflineCPUsStay(t *testing.T) {
	m := machine()
	m.Topology = topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 4, Offline: "5"})
	m.Masks = m.masks()
	m.line(25, "eth1", "eth1", "0-7", irq.Settable)
	m.process(100, "pinned", "pinned", "/").Affinity = set("2,5")
	m.process(101, "some", "some", "/").Affinity = set("4-7")
	got := drift(Resolve(parsed(t, "[isolation]\ncpus='2'\n"), m.State))
	for _, want := range []string{"1 systemd affinity: 0-7 → 0-1,3-7", "2 kthreadd affinity: 0-7 → 0-1,3-7", "100 pinned affinity: 2,5 → 0-1,3-4,6-7",
		"0 default of new IRQs default-irq-affinity: 0-7 → 0-1,3-7", "0 irq 25 (eth1) irq-affinity: 0-7 → 0-1,3-7"} {
		assert.Contains(t, got, want)
	}
	assert.Equal(t, "4-7", (&capturer{s: m.State}).cpusText(set("4-7")))
	assert.Equal(t, "online", (&capturer{s: m.State}).cpusText(set("0-7")))
	unit, err := SettingsOf(m.State, 101, "")
	assert.NoError(t, err)
	assert.Equal(t, "4-7", unit.CPUs.String())
}

// TestWholeMasks reads the masks of a live sample again where CPUs could come online.
func TestWholeMasks(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, kernelfake.WriteFiles(root, map[string]string{
		"sys/devices/system/cpu/online": "0-4,6-7\n", "sys/devices/system/cpu/possible": "0-7\n",
		"proc/11/status": "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n",
	}))
	cut := func() []*sample.Task {
		return []*sample.Task{{TGID: 10, TID: 11, Have: sample.HaveAffinity, Affinity: set("0-4,6-7")},
			{TGID: 12, TID: 12, Have: sample.HaveAffinity, Affinity: set("1")}, {TGID: 10, TID: 11}}
	}
	tasks := cut()
	wholeMasks(attr.NewMachine(attr.Sources{Proc: procfs.New(root)}), tasks)
	assert.Equal(t, []string{"0-7", "1", ""}, []string{tasks[0].Affinity.String(), tasks[1].Affinity.String(), tasks[2].Affinity.String()})
	require.NoError(t, os.WriteFile(filepath.Join(root, "sys/devices/system/cpu/online"), []byte("0-7\n"), 0o644))
	tasks = cut()
	wholeMasks(attr.NewMachine(attr.Sources{Proc: procfs.New(root)}), tasks)
	assert.Equal(t, "0-4,6-7", tasks[0].Affinity.String(), "nothing is offline: it is not asked again")
}

func TestCPUsEach(t *testing.T) {
	m := tuned()
	p := parsed(t, "[[task]]\nname='nginx'\ncommand='worker'\ncpus_each=['0','1']\n")
	assert.Equal(t, []string{"103 nginx affinity: 2 → 0"}, drift(Resolve(p, m.State)))
	m.task(101).Affinity, m.task(102).Affinity = set("1"), set("0")
	assert.Equal(t, []string{"103 nginx affinity: 2 → 0"}, drift(Resolve(p, m.State)), "who holds which does not matter")
	m.task(101).Affinity, m.task(103).Affinity = set("7"), set("1")
	assert.Equal(t, []string{"101 nginx affinity: 7 → 0"}, drift(Resolve(p, m.State)))
}

func TestRequests(t *testing.T) {
	m := tuned()
	r := Resolve(parsed(t, "[[task]]\nname='java'\ncommand='a.jar'\nnice=5\ncpus='0-3'\n[[task]]\nname='java'\nthread='G1 *'\nnice=10\n"+
		"[[task]]\nname='jackd'\nnice=0\n[sysctl]\n'kernel.numa_balancing'=0\n'kernel.core_pattern'='|/bin/sh'\n"), m.State)
	requests := r.Requests("because")
	require.Len(t, requests, 3, "jackd is as it should be")
	assert.Equal(t, []change.Target{{TID: 200, StartTicks: 2000, Scope: change.ScopeProcess}}, requests[0].Targets)
	assert.Equal(t, "0-3", valueOf(requests[0], attr.Affinity))
	assert.Equal(t, "5", valueOf(requests[0], attr.Nice))
	assert.Equal(t, []change.Target{{TID: 202, StartTicks: 2020, Scope: change.ScopeThread}}, requests[1].Targets)
	assert.Equal(t, "10", valueOf(requests[1], attr.Nice))
	assert.Equal(t, []attr.FileSetting{attr.SetFile(attr.Sysctl, "/proc/sys/kernel/numa_balancing", "kernel.numa_balancing", attr.Line("0"))}, requests[2].Files)

	m.sysctls["kernel/core_pattern"] = "core"
	r = Resolve(parsed(t, "[sysctl]\n'kernel.core_pattern'='|/bin/sh'\n"), m.State)
	requests = r.Requests("because")
	assert.Empty(t, requests)
	require.Len(t, r.Blocked(), 1)
	assert.Contains(t, r.Blocked()[0].Reason, "a program that the kernel runs")
}

// TestSliceAndClamp looks at what only a system call tells.
func TestSliceAndClamp(t *testing.T) {
	m := tuned()
	p := parsed(t, "[[task]]\nname='jackd'\nslice='3ms'\nuclamp='0,50%'\n")
	r := Resolve(p, m.State)
	assert.Empty(t, r.Drift(), "a recorded machine does not tell")
	assert.Equal(t, 2, r.Unknown())

	has := map[attr.Attribute]string{attr.Slice: "default", attr.Clamp: "1024,1024"}
	m.Value = func(a attr.Attribute, tid kernel.TID) (attr.Value, error) {
		if tid == 400 {
			return a.Parse(has[a])
		}
		return a.Parse(map[attr.Attribute]string{attr.Slice: "default", attr.Clamp: "0,1024"}[a])
	}
	assert.Equal(t, []string{"400 jackd slice: default → 3ms", "400 jackd uclamp: 1024,1024 → 0,512"}, drift(Resolve(p, m.State)))
	requests := Resolve(p, m.State).Requests("")
	assert.Equal(t, "3ms", valueOf(requests[0], attr.Slice))
	assert.Equal(t, "0,512", valueOf(requests[0], attr.Clamp))
	assert.Empty(t, drift(Resolve(parsed(t, "[[task]]\nname='jackd'\nslice='0'\nuclamp='default'\n"), m.State)))
	saved := Capture(m.State, CaptureOptions{})
	assert.NotContains(t, string(Encode(saved)), "uclamp =")

	has = map[attr.Attribute]string{attr.Slice: "3ms", attr.Clamp: "0,512"}
	saved = Capture(m.State, CaptureOptions{})
	assert.NotContains(t, string(Encode(saved)), "slice =", "nobody can tell who set it")
	saved = Capture(m.State, CaptureOptions{Journal: []change.Entry{{Changes: []change.Change{
		{Object: attr.Object{TID: 400, StartTicks: 4000}, Attribute: attr.Slice, Status: attr.Done},
	}}}})
	assert.Contains(t, string(Encode(saved)), "slice = \"3ms\"\nuclamp = \"0,512\"\n")
	holds(t, saved, m.State)
	has[attr.Slice] = "none"
	assert.Contains(t, Resolve(p, m.State).Blocked()[0].Reason, "no slice")
}

// valueOf is what a request asks for, "" for nothing.
func valueOf(q change.Request, a attr.Attribute) string {
	for _, s := range q.Set {
		if s.Attribute == a {
			return s.Value.String()
		}
	}
	return ""
}

// TestGroupIsWanted: a control group once for all its processes, by what it has; and what piton has
// set of one is kept.
func TestGroupIsWanted(t *testing.T) {
	m := tuned()
	p := parsed(t, "[[task]]\nname='jackd'\nweight='200'\nquota='20%'\n")
	assert.Equal(t, 2, Resolve(p, m.State).Unknown(), "a recorded machine does not tell")
	const dir = "/sys/fs/cgroup/audio/"
	weight := "100"
	m.Group = func(_ kernel.TID, s attr.Setting) change.Change {
		c := change.Change{Attribute: s.Attribute, After: s.Value, Status: attr.Planned}
		if s.Attribute == attr.Quota {
			c.Refuse("it has none")
			return c
		}
		c.Path, c.Name = dir+"cpu.weight", "cgroup /audio"
		c.Before, _ = s.Attribute.Parse(weight)
		return c
	}
	r := Resolve(p, m.State)
	assert.Equal(t, []string{"0 cgroup /audio weight: 100 → 200", "400 jackd quota: %!s(<nil>) → 20% (it has none)"}, drift(r))
	requests := r.Requests("")
	require.Len(t, requests, 1)
	want, err := attr.Weight.Parse("200")
	require.NoError(t, err)
	assert.Equal(t, []attr.FileSetting{attr.SetFile(attr.Weight, dir+"cpu.weight", "cgroup /audio", want)}, requests[0].Files)
	weight = "200"
	assert.Empty(t, Resolve(p, m.State).Requests(""))

	made := change.Change{Object: attr.Object{Path: dir + "cpu.weight", Name: "cgroup /aud*io"}, Attribute: attr.Weight, After: want, Status: attr.Done}
	saved := Capture(m.State, CaptureOptions{Journal: []change.Entry{{ID: 1, Finished: true, Changes: []change.Change{made}}}})
	i := slices.IndexFunc(saved.Tasks, func(t Task) bool { return t.Weight != "" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, Task{Cgroup: `/aud\*io`, Weight: "200", Optional: true}, saved.Tasks[i])
	assert.NotContains(t, string(Encode(Capture(m.State, CaptureOptions{}))), "weight =")
}
