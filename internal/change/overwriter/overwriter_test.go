package overwriter_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/overwriter"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// whos are the subjects of the sentences.
func whos(m *changetest.Machine, changes ...attr.Change) string {
	var names []string
	for _, why := range overwriter.Of(m, changes) {
		names = append(names, predicate.ReplaceAllString(why, ""))
	}
	return strings.Join(names, ", ")
}

var predicate = regexp.MustCompile(` (is running|owns the cpuset|sets) .*`)

func TestDaemonsThatOverwrite(t *testing.T) {
	task := func(a attr.Attribute) attr.Change {
		return attr.Change{Object: attr.Object{PID: 10, TID: 10}, Attribute: a, Status: attr.Planned}
	}
	line := attr.Change{Object: attr.Object{Path: "/proc/irq/24/smp_affinity_list"}, Attribute: attr.IRQAffinity, Status: attr.Planned}
	unchanged := task(attr.Affinity)
	unchanged.Status = attr.Unchanged
	for _, tt := range []struct {
		name   string
		files  map[string]string
		change attr.Change
		want   string
	}{
		{"nobody", nil, task(attr.Affinity), ""},
		{"by name", map[string]string{"proc/77/comm": "tuned\n"}, task(attr.Affinity), "tuned"},
		{"another attribute", map[string]string{"proc/77/comm": "irqbalance\n"}, task(attr.Affinity), ""},
		{"of interrupts", map[string]string{"proc/77/comm": "irqbalance\n"}, line, "irqbalance"},
		{"two of them", map[string]string{"proc/77/comm": "ananicy-cpp\n", "run/tuned/tuned.pid": "77\n"}, task(attr.Nice), "tuned, ananicy"},
		{"of sessions", map[string]string{"proc/77/comm": "ananicy\n"}, task(attr.Autogroup), "ananicy"},
		{"a service", map[string]string{"sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs": "77\n"}, line, "irqbalance"},
		{"a stopped service", map[string]string{"sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs": ""}, line, ""},
		{"a service of version 1", map[string]string{"sys/fs/cgroup/systemd/system.slice/tuned.service/cgroup.procs": "77\n"}, task(attr.Policy), "tuned"},
		{"a stale PID file", map[string]string{"run/irqbalance.pid": "4711\n"}, line, ""},
		{"an odd PID file", map[string]string{"run/irqbalance.pid": "../77\n", "proc/77/comm": "x\n"}, line, ""},
		{"its sockets", map[string]string{"run/irqbalance/irqbalance77.sock": ""}, line, "irqbalance"},
		{"unchanged", map[string]string{"proc/77/comm": "tuned\n"}, unchanged, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := changetest.New(t)
			m.Spawn(10, 10)
			m.Spawn(77, 77)
			m.Write("proc/77/comm", "other\n")
			for name, content := range tt.files {
				m.Write(name, content)
			}
			assert.Equal(t, tt.want, whos(m, tt.change))
		})
	}
}

// On a machine of many threads without systemd only the names of what init and its children
// started are read, and those only where one of the programs is installed.
func TestNamesOfManyProcesses(t *testing.T) {
	m := changetest.New(t)
	for pid, name := range map[kernel.TID]string{10: "job", 77: "numad", 78: "supervise", 79: "ananicy", 80: "tuned"} {
		m.Spawn(pid, pid)
		m.Write(fmt.Sprintf("proc/%d/comm", pid), name+"\n")
	}
	m.Write("proc/1/task/1/children", "77 78 ")
	m.Write("proc/78/task/78/children", "79 ")
	c := attr.Change{Object: attr.Object{PID: 10, TID: 10}, Attribute: attr.Affinity, Status: attr.Planned}
	n := c
	n.Attribute = attr.Nice
	assert.Equal(t, "tuned, numad", whos(m, c), "few threads")
	m.Write("proc/loadavg", "0.20 0.18 0.12 1/20108 11206\n")
	assert.Empty(t, whos(m, c, n))
	m.Write("usr/sbin/tuned", "")
	assert.Equal(t, "ananicy, numad", whos(m, c, n))
}

func TestOwnersOfCgroups(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for group, want := range map[string]string{
		"/":                                     "",
		"/user.slice/user-0.slice/session-1":    "",
		"/docker/" + id:                         "Docker container 0123456789ab",
		"/system.slice/docker-" + id + ".scope": "Docker container 0123456789ab",
		"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id + ".scope": "Kubernetes (kubelet) (container 0123456789ab)",
		"/kubepods/besteffort/pod1":                                                "Kubernetes (kubelet)",
		"/machine.slice/libpod-" + id + ".scope":                                   "Podman container 0123456789ab",
		"/lxc.payload.web":                                                         "LXC container web",
		"/machine.slice/machine-qemu\\x2d1.scope":                                  "the machine manager of machine-qemu\\x2d1.scope",
		"/system.slice/nginx.service":                                              "systemd unit nginx.service",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app-db@2.service": "systemd unit app-db@2.service",
	} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		m.Write("proc/10/cgroup", "0::"+group+"\n")
		m.Write("usr/lib/systemd/system/nginx.service", "[Service]\nNice=5\nCPUAffinity=0-1\n")
		m.Write("etc/systemd/system/nginx.service.d/10-x.conf", "[Service]\nCPUAffinity=\nCPUAffinity=2\n")
		m.Write("etc/systemd/system/app-db@.service", "[Service]\nAllowedCPUs=1\n")
		c := attr.Change{Object: attr.Object{PID: 10, TID: 10}, Attribute: attr.Affinity, Status: attr.Planned}
		assert.Equal(t, want, whos(m, c), group)
	}
}

func TestOverwritersAreSaidWithThePlan(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Write("proc/10/cgroup", "0::/system.slice/nginx.service\n")
	m.Write("usr/lib/systemd/system/nginx.service", "[Service]\nNice=5\nCPUAffinity=0-1\nIOSchedulingClass=idle\n")
	m.Write("etc/systemd/system/nginx.service.d/10-x.conf", "CPUAffinity=\nNice = 7\n")
	tuner := m.Tuner(change.Options{})
	plan := changetest.Plan(t, tuner, changetest.Set([]attr.Setting{attr.SetAffinity(cpuset.Of(1)), attr.SetNice(3)}, 10))
	assert.Equal(t, []string{"systemd unit nginx.service sets Nice=7 whenever it starts its processes; " +
		"change it there to keep it: systemctl edit nginx.service"}, change.Texts(plan.Warnings), "the drop-in reverts the affinity")
	batch, err := attr.Policy.Parse("batch")
	require.NoError(t, err)
	assert.Empty(t, changetest.Plan(t, tuner, changetest.One(attr.SetPolicy(attr.PolicyOf(batch)), 10)).Warnings)

	m.Write("proc/10/comm", "irqbalance\n")
	plan = changetest.Plan(t, tuner, changetest.File(attr.IRQAffinity, m.Line("24", "eth0", "0-3"), "irq 24 (eth0)", cpuset.Of(1)))
	assert.Equal(t, []string{overwriter.IrqbalanceWhy}, change.Texts(plan.Warnings))
}
