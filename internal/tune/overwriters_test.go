package tune

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func whos(all []Overwriter) string {
	var names []string
	for _, o := range all {
		names = append(names, o.Who)
	}
	return strings.Join(names, ", ")
}

func TestDaemonsThatOverwrite(t *testing.T) {
	task := func(a Attribute) []Change { return []Change{{PID: 10, TID: 10, Attribute: a, Status: Planned}} }
	line := []Change{{Attribute: IRQAffinity, Path: "/proc/irq/24/smp_affinity_list", Status: Planned}}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		changes []Change
		want    string
	}{
		{"nobody", nil, task(Affinity), ""},
		{"by name", map[string]string{"proc/77/comm": "tuned\n"}, task(Affinity), "tuned"},
		{"another attribute", map[string]string{"proc/77/comm": "irqbalance\n"}, task(Affinity), ""},
		{"of interrupts", map[string]string{"proc/77/comm": "irqbalance\n"}, line, "irqbalance"},
		{"two of them", map[string]string{"proc/77/comm": "ananicy-cpp\n", "run/tuned/tuned.pid": "77\n"}, task(Nice), "tuned, ananicy"},
		{"a service", map[string]string{"sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs": "77\n"}, line, "irqbalance"},
		{"a stopped service", map[string]string{"sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs": ""}, line, ""},
		{"a service of version 1", map[string]string{"sys/fs/cgroup/systemd/system.slice/tuned.service/cgroup.procs": "77\n"}, task(Policy), "tuned"},
		{"a stale PID file", map[string]string{"run/irqbalance.pid": "4711\n"}, line, ""},
		{"an odd PID file", map[string]string{"run/irqbalance.pid": "../77\n", "proc/77/comm": "x\n"}, line, ""},
		{"its sockets", map[string]string{"run/irqbalance/irqbalance77.sock": ""}, line, "irqbalance"},
		{"unchanged", map[string]string{"proc/77/comm": "tuned\n"}, []Change{{PID: 10, TID: 10, Attribute: Affinity, Status: Unchanged}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.spawn(10, 10)
			m.spawn(77, 77)
			m.write("proc/77/comm", "other\n")
			for name, content := range tt.files {
				m.write(name, content)
			}
			assert.Equal(t, tt.want, whos(m.tuner(Options{}).Overwriters(tt.changes)))
		})
	}
}

// On a machine of very many processes without systemd the names are only read
// where one of the programs is installed.
func TestNamesOfManyProcesses(t *testing.T) {
	m := newMachine(t)
	for pid := kernel.TID(1); pid <= manyProcesses+1; pid++ {
		m.tgid[pid] = pid
	}
	m.write("proc/77/comm", "tuned\n")
	changes := []Change{{Attribute: Affinity, Status: Planned, PID: 10, TID: 10}}
	assert.Empty(t, m.tuner(Options{}).Overwriters(changes))
	m.write("usr/sbin/tuned", "")
	assert.Equal(t, "tuned", whos(m.tuner(Options{}).Overwriters(changes)))
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
		m := newMachine(t)
		m.spawn(10, 10)
		m.write("proc/10/cgroup", "0::"+group+"\n")
		m.write("usr/lib/systemd/system/nginx.service", "[Service]\nNice=5\nCPUAffinity=0-1\n")
		m.write("etc/systemd/system/nginx.service.d/10-x.conf", "[Service]\nCPUAffinity=\nCPUAffinity=2\n")
		m.write("etc/systemd/system/app-db@.service", "[Service]\nAllowedCPUs=1\n")
		changes := []Change{{PID: 10, TID: 10, Attribute: Affinity, Status: Planned}}
		assert.Equal(t, want, whos(m.tuner(Options{}).Overwriters(changes)), group)
	}
}

func TestOverwritersAreSaidWithThePlan(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	m.write("proc/10/cgroup", "0::/system.slice/nginx.service\n")
	m.write("usr/lib/systemd/system/nginx.service", "[Service]\nNice=5\nCPUAffinity=0-1\nIOSchedulingClass=idle\n")
	m.write("etc/systemd/system/nginx.service.d/10-x.conf", "CPUAffinity=\nNice = 7\n")
	one, nice := cpuset.Of(1), 3
	plan := planFor(t, m.tuner(Options{}), Settings{Affinity: &one, Nice: &nice}, 10)
	assert.Equal(t, []string{"systemd unit nginx.service sets Nice=7 whenever it starts its processes; " +
		"change it there to keep it: systemctl edit nginx.service"}, plan.Warnings, "the affinity is taken back by the drop-in")
	assert.Empty(t, planFor(t, m.tuner(Options{}), Settings{Policy: &PolicySetting{Policy: kernel.Batch}}, 10).Warnings)

	m.write("proc/10/comm", "irqbalance\n")
	file := m.line("24", "eth0", "0-3")
	irqs, err := m.tuner(Options{}).Plan(context.Background(), moveIRQ(file, "irq 24 (eth0)", "1"))
	require.NoError(t, err)
	assert.Equal(t, []string{daemons[0].why}, irqs.Warnings)
}
