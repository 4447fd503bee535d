package demo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/sample"
)

// uids of the users; what is not named is root's.
var uids = map[string]uint32{"root": 0, "www-data": 33, "postgres": 70, "mika": 1000, "balu": 1001, "build": 1002, "nobody": 65534,
	"svc-telemetry-collector": 998}

// service is the control group of a systemd service.
func service(name string) string { return "/system.slice/" + name + ".service" }

const (
	session   = "/user.slice/user-1001.slice/session-3.scope"
	container = "/system.slice/docker-3f6c1a9e8b7d4c2f90a1e5d6b7c8f9012a3b4c5d6e7f8091a2b3c4d5e6f70819.scope"
	pod       = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7d1c.slice/cri-containerd-9a81.scope"
)

// process adds a process; its figures are to be completed before add.
func (m *Machine) process(ppid kernel.TID, user, cgroup, comm, cmdline string) *task {
	m.pid += 1 + kernel.TID(m.rng.IntN(3))
	m.forks++
	exe, _, _ := strings.Cut(cmdline, " ")
	if !strings.HasPrefix(exe, "/") {
		exe = ""
	}
	t := &task{Task: sample.Task{TID: m.pid, TGID: m.pid, PPID: ppid, State: 'S', Threads: 1, Priority: 20, LastCPU: -1, Have: have,
		StartTicks: m.start(m.pid), MigrationSource: sample.SourceBPF,
		RSSPages: 300 + int64(m.pid)%4000, Affinity: m.all(),
		ID: &sample.Identity{Comm: comm, Cmdline: cmdline, Exe: exe, Cgroup: cgroup, CPUGroup: cgroup, User: user, UID: uids[user], Full: true}}}
	t.leader, t.threads = t, []*task{t}
	return t
}

// start is when a process began: those that are there at first, in the order of their
// numbers, a minute apart.
func (m *Machine) start(pid kernel.TID) uint64 {
	if !m.running {
		return uint64(pid) * 60 * kernelfake.TicksPerS
	}
	return uint64(m.count.Up().Seconds() * kernelfake.TicksPerS)
}

// add makes a task part of the machine.
func (m *Machine) add(t *task) *task {
	t.allowed, t.changed = t.Affinity.CPUs(), true
	t.RSSPages = min(t.RSSPages, memoryBytes(len(m.cpus))/kernelfake.PageBytes/8)
	t.Priority = priority(t.Policy, t.Nice, t.RTPrio)
	t.LastCPU = int32(m.idlest(t, t.allowed))
	if t.want == 0 && len(t.allowed) > 1 {
		t.LastCPU = int32(t.allowed[int(t.TID)%len(t.allowed)])
	}
	if !m.running {
		past := t.want * (kernelfake.UpTime - time.Duration(t.StartTicks)*time.Second/kernelfake.TicksPerS).Seconds() * 0.02e9
		t.ran(past, past*0.01)
	}
	m.insert(t)
	return t
}

// thread adds a thread to a process that is there, with the process's mask and policy.
func (m *Machine) thread(of *task, comm string, want float64) *task {
	m.pid++
	m.forks++
	t := &task{Task: of.Task, leader: of, limit: of.limit, want: want, inside: of.inside, period: of.period, moves: of.moves}
	id := *of.ID
	id.Comm = comm
	t.TID, t.ID, t.State = m.pid, &id, 'S'
	t.UserTicks, t.SystemTicks, t.RunNs, t.RunDelayNs, t.VoluntarySwitches, t.InvoluntarySwitches = 0, 0, 0, 0, 0, 0
	of.threads = append(of.threads, t)
	of.Threads++
	return m.add(t)
}

// kthread adds a kernel thread.
func (m *Machine) kthread(comm string, cpus cpuset.Set) *task {
	t := m.process(2, "root", "/", comm, "")
	t.Flags, t.RSSPages, t.Nice, t.Affinity = sample.FlagKernelThread, 0, 0, cpus
	if cpus.Len() == 1 {
		t.Flags |= sample.FlagNoSetAffinity
	}
	return m.add(t)
}

// cast makes the tasks that are there from the beginning.
func (m *Machine) cast() {
	first := m.process(0, "root", "/init.scope", "systemd", "/sbin/init")
	first.TID, first.TGID, first.RSSPages = 1, 1, 3300
	m.add(first)
	kthreadd := m.process(0, "root", "/", "kthreadd", "")
	kthreadd.TID, kthreadd.TGID, kthreadd.Flags, kthreadd.RSSPages = 2, 2, sample.FlagKernelThread, 0
	m.add(kthreadd)
	m.pid = 10
	m.kthreads()
	m.pid = max(m.pid, 600)
	m.services()
	m.busy()
	m.hostile()
	for i := range max(1, min(len(m.cpus)/8, 16)) {
		m.jobs = append(m.jobs, &job{slot: i})
	}
}

// kthreads are those of every CPU, and some that may be moved.
func (m *Machine) kthreads() {
	for id := range m.all().All() {
		only := cpuset.Of(id)
		mover := m.process(2, "root", "/", fmt.Sprintf("migration/%d", id), "")
		mover.Flags, mover.Affinity, mover.Policy, mover.RTPrio, mover.RSSPages = sample.FlagKernelThread|sample.FlagNoSetAffinity, only, kernel.FIFO, 99, 0
		m.idlers = append(m.idlers, m.add(mover), m.kthread(fmt.Sprintf("ksoftirqd/%d", id), only), m.kthread(fmt.Sprintf("kworker/%d:1-events", id), only))
		m.kthread(fmt.Sprintf("cpuhp/%d", id), only)
	}
	for _, name := range []string{"rcu_preempt", "khungtaskd", "oom_reaper", "khugepaged", "kcompactd0", "jbd2/nvme0n1p2-8"} {
		m.idlers = append(m.idlers, m.kthread(name, m.all()))
	}
	for i := range m.Topology.Nodes {
		m.idlers = append(m.idlers, m.kthread(fmt.Sprintf("kswapd%d", i), m.Topology.Nodes[i].CPUs))
	}
	for i := range 6 {
		m.idlers = append(m.idlers, m.kthread(fmt.Sprintf("kworker/u%d:%d-flush-259:0", 2*len(m.cpus), i), m.all()))
	}
	handler := m.process(2, "root", "/", "irq/9-acpi", "")
	handler.Flags, handler.Policy, handler.RTPrio, handler.RSSPages = sample.FlagKernelThread, kernel.FIFO, 50, 0
	m.lines[1].handler = m.add(handler)
}

// services are the processes of a server that do little.
func (m *Machine) services() {
	for _, s := range [][4]string{
		{"root", "systemd-journal", "/usr/lib/systemd/systemd-journald", "systemd-journald"},
		{"root", "systemd-udevd", "/usr/lib/systemd/systemd-udevd", "systemd-udevd"},
		{"root", "dbus-daemon", "/usr/bin/dbus-daemon --system --address=systemd:", "dbus"},
		{"root", "cron", "/usr/sbin/cron -f", "cron"},
		{"root", "sshd", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "ssh"},
		{"root", "containerd", "/usr/bin/containerd", "containerd"},
		{"root", "dockerd", "/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock", "docker"},
		{"svc-telemetry-collector", "otelcol", "/opt/otel/otelcol --config /etc/otel/config.yaml", "otelcol"},
		{"nobody", "dnsmasq", "/usr/sbin/dnsmasq -k", "dnsmasq"},
	} {
		t := m.process(1, s[0], service(s[3]), s[1], s[2])
		t.want, t.period, t.moves, t.inside = 0.003, 17, 0.2, 0.4
		m.add(t)
	}
	for _, name := range []string{"mika", "balu"} {
		shell := m.add(m.process(1, name, session, "bash", "-bash"))
		m.add(m.process(shell.TID, name, session, "vim", "vim notes.txt"))
	}
}

// user is a process that is busy.
func (m *Machine) user(user, cgroup, comm, cmdline string, want, inside, period, moves float64) *task {
	t := m.process(1, user, cgroup, comm, cmdline)
	t.want, t.inside, t.period, t.moves = want, inside, period, moves
	return t
}

// busy are the processes that make the load.
func (m *Machine) busy() {
	n, all := len(m.cpus), m.all().CPUs()
	first, far, last := all[0], all[m.coreCount()/2], all[n-1]

	full := m.user("balu", session, "nqueens", "./nqueens -n 16 --threads 1", 1, 0, 0, 0) // one CPU full
	full.Affinity = cpuset.Of(all[min(1, n-1)])
	m.add(full)

	hop := m.user("balu", session, "bouncer", "./bouncer --hop 2ms --threads 7", 0.19, 0.3, 0, 390) // between two nodes
	hop.between = []cpuset.CPU{first, far}
	if first == far {
		hop.between = []cpuset.CPU{first, last}
	}
	m.add(hop)
	near := m.thread(hop, "hop1", 0.12)
	near.moves, near.between = 120, m.Topology.CPUs[last].LLC.CPUs()[:min(2, m.Topology.CPUs[last].LLC.Len())]
	m.thread(hop, "hop2", 0.07).moves = 18
	for i := range 4 {
		m.thread(hop, fmt.Sprintf("wait%d", i), 0)
	}

	rt := m.user("root", service("rtapp"), "rtapp", "/usr/local/bin/rtapp --period 10ms", 0.31, 0.1, 0, 0)
	rt.Policy, rt.RTPrio, rt.Affinity = kernel.FIFO, 50, cpuset.Of(last)
	m.add(rt)
	audio := m.user("mika", session, "jackd", "/usr/bin/jackd -R -P70 -d alsa -p 128", 0.07, 0.2, 11, 2)
	audio.Policy, audio.RTPrio = kernel.RR, 70
	m.add(audio)
	deadline := m.user("root", service("camera"), "dlcam", "/opt/camera/dlcam", 0.12, 0.1, 0, 1)
	deadline.Policy, deadline.budget = kernel.Deadline, [2]uint64{2_000_000, 10_000_000}
	m.add(deadline)
	spare := m.user("nobody", service("boinc"), "boinc", "/usr/bin/boinc_client --dir /var/lib/boinc", 0.6, 0, 0, 1)
	spare.Policy, spare.Nice = kernel.Idle, 19
	m.add(spare)
	backup := m.user("root", service("backup"), "borg", "/usr/bin/python3 /usr/bin/borg create --stats ::{now} /srv", 0.25, 0.4, 31, 3)
	backup.Policy, backup.Nice, backup.disk, backup.RSSPages = kernel.Batch, 10, 0.3, 52_000
	m.add(backup)

	web := m.add(m.process(1, "root", service("nginx"), "nginx", "nginx: master process /usr/sbin/nginx"))
	for i := range min(max(n/2, 2), 32) {
		t := m.user("www-data", service("nginx"), "nginx", "nginx: worker process", 0.1+0.03*float64(i%5), 0.45, float64(13+i), 1.5)
		t.PPID = web.TID
		m.add(t)
	}
	m.database()
	m.java()
	m.ranks()
}

func (m *Machine) coreCount() int { return len(m.Topology.Cores()) }

// database is in a container whose cpuset is the first node.
func (m *Machine) database() {
	limit := m.Topology.Nodes[0].CPUs
	main := m.process(1, "postgres", container, "postgres", "/usr/lib/postgresql/17/bin/postgres -D /srv/pg")
	main.limit, main.Affinity, main.RSSPages = limit, limit, 420_000
	m.add(main)
	what := []string{"checkpointer", "background writer", "walwriter", "autovacuum launcher"}
	for i := range min(max(len(m.cpus)/4, 3), 24) {
		what = append(what, fmt.Sprintf("app orders 10.0.%d.%d(%d) SELECT", i%4, 10+i, 41000+7*i))
	}
	for i, name := range what {
		t := m.process(main.TID, "postgres", container, "postgres", "postgres: "+name)
		t.limit, t.Affinity, t.RSSPages = limit, limit, 90_000+int64(i)*1111
		t.want, t.inside, t.period, t.moves, t.disk = 0.02+0.035*float64(i%4), 0.25, float64(9+i), 0.8, 0.15
		m.add(t)
	}
}

// java is a process with many threads, in a pod.
func (m *Machine) java() {
	t := m.user("svc-telemetry-collector", pod, "java",
		"/usr/lib/jvm/21/bin/java -Xmx24g -XX:+UseG1GC -cp /srv/app/lib/* com.example.orders.Main --spring.profiles.active=production", 0.02, 0.1, 0, 1)
	t.RSSPages = 3_100_000
	m.add(t)
	for i := range min(max(len(m.cpus)/4, 2), 48) {
		m.thread(t, fmt.Sprintf("G1 Worker#%d", i), 0.05+0.02*float64(i%3)).period = float64(7 + i)
	}
	for i := range min(len(m.cpus), 96) {
		worker := m.thread(t, fmt.Sprintf("http-exec-%d", i), 0.01+0.01*float64(i%4))
		worker.period, worker.moves = float64(19+i), 2
	}
}

// ranks are simulations on large machines: one of processes that are each pinned to a
// CPU, one of threads that the kernel moves within their caches, and some that bounce
// between nodes.
func (m *Machine) ranks() {
	n := len(m.cpus)
	if n < 48 {
		return
	}
	all := m.all().CPUs()
	md := m.user("mika", pod, "gmx", "gmx mdrun -deffnm npt -ntmpi 1 -ntomp "+fmt.Sprint(n/8), 0.6, 0.02, 29, 9)
	md.RSSPages = 910_000
	m.add(md)
	for i := range n/8 - 1 {
		t := m.thread(md, "gmx", 0.55+0.05*float64(i%5))
		t.period, t.moves = float64(23+i%31), float64(2+i%17)
	}
	for i := range n / 64 {
		from := all[(i*37+5)%(n/2)]
		t := m.user("build", session, "pipe-test", fmt.Sprintf("./pipe-test --pair %d", i), 0.22, 0.6, 0, 15*math.Pow(1.8, float64(i%8)))
		t.between = []cpuset.CPU{from, all[(int(from)+n/4+3)%n]}
		m.add(t)
	}
	for i := range n / 4 {
		t := m.user("mika", "/user.slice/user-1000.slice/session-9.scope", "lmp", fmt.Sprintf("lmp -in melt.in -screen none # rank %d of %d", i, n/4),
			0.97, 0.02, float64(40+i%60), 0)
		t.Affinity, t.RSSPages = cpuset.Of(all[n/8+i]), 210_000
		m.add(t)
	}
}
