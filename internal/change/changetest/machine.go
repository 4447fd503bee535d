// Package changetest is for tests of what changes a machine: a fake machine with a
// Tuner for it, and short ways to plan, carry and undo.
//
// Start at New.
package changetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

// User owns the tasks of a Machine and runs piton.
const User = 1000

// Machine is a fake machine of CPUs 0-3: tasks in memory, and a directory for the
// files of /proc and /sys that are read by name. It is an attr.Processes.
type Machine struct {
	*kernelfake.Fake
	kernelfake.Proc
	Settings *kernelfake.Files
	OnList   func(pid kernel.TID)  // called before each listing of threads
	Sysctls  map[string]int64      // beside the usual ones
	Sessions map[kernel.TID]string // autogroups, for which 0 stands
	Groups   map[string]int        // their nice values

	t *testing.T
}

// all are the CPUs of a Machine.
var all = cpuset.Of(0, 1, 2, 3)

var _ attr.Processes = (*Machine)(nil)

// New returns a machine without tasks.
func New(t *testing.T) *Machine {
	t.Helper()
	m := &Machine{
		Fake: kernelfake.New(t), Settings: kernelfake.NewFiles(), t: t,
		Sysctls:  map[string]int64{"kernel/sched_rt_runtime_us": 950_000, "kernel/sched_rt_period_us": 1_000_000},
		Sessions: map[kernel.TID]string{0: "/autogroup-1"}, Groups: map[string]int{},
	}
	m.Store = m.store
	m.Proc = kernelfake.Proc{Dir: t.TempDir(), Read: m.Look, List: m.list}
	m.Write("sys/devices/system/cpu/present", all.String())
	m.Write("sys/devices/system/cpu/possible", all.String())
	m.SetOnline(all)
	m.Write("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"+
		"34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"+
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n")
	m.Write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-3\n")
	t.Cleanup(func() { require.Zero(t, m.Held(), "processes are still held") })
	return m
}

// Write makes a file of the machine.
func (m *Machine) Write(name, content string) {
	require.NoError(m.t, kernelfake.WriteFiles(m.Dir, map[string]string{name: content}))
}

// Spawn adds a thread of process pid with CPUs 0-3, OTHER, nice 0, started at tick
// 1000+tid.
func (m *Machine) Spawn(pid, tid kernel.TID) {
	m.SpawnAs(pid, tid, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3)})
}

// SpawnAs adds a thread of process pid; Start 0 is tick 1000+tid.
func (m *Machine) SpawnAs(pid, tid kernel.TID, task kernelfake.Task) {
	if task.TGID, task.UID = pid, User; task.Start == 0 {
		task.Start = 1000 + uint64(tid)
	}
	task.Stat = procfs.Stat{Comm: []byte("job"), State: 'S', PPID: 1}
	m.Create(tid, task)
}

// Replace gives the number of a thread to a new one of process pid, which starts much
// later.
func (m *Machine) Replace(pid, tid kernel.TID, comm string) {
	m.SpawnAs(pid, tid, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Start: 99999})
	m.Tasks[tid].Comm = []byte(comm)
}

// SetOnline takes CPUs online and offline. As the kernel does, it gives a task that is runnable
// (its State is R) all CPUs when none of its mask is left, and leaves those that sleep alone.
func (m *Machine) SetOnline(cpus cpuset.Set) {
	m.SetOffline(all.AndNot(cpus))
	m.Write("sys/devices/system/cpu/online", cpus.String())
	for _, task := range m.Tasks {
		if task.State == 'R' && task.Affinity.And(cpus).Empty() {
			task.Affinity = all
		}
	}
}

// Line makes an interrupt line and returns its file.
func (m *Machine) Line(number, handlers, cpus string) string {
	file := "/proc/irq/" + number + "/smp_affinity_list"
	m.Settings.Put(file, cpus+"\n")
	m.Write(file, cpus+"\n")
	m.Write("sys/kernel/irq/"+number+"/actions", handlers+"\n")
	m.Write("proc/sys/kernel/osrelease", "6.12.1\n")
	return file
}

// Group puts a process into a control group of version 2, or else 1, and returns its directory.
func (m *Machine) Group(name string, unified bool, pid kernel.TID) (dir string) {
	dir, line := "/sys/fs/cgroup/cpu"+name, "1:cpu:"+name+"\n0::/\n"
	if unified {
		dir, line = "/sys/fs/cgroup/unified"+name, "0::"+name+"\n"
		m.Write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n")
	}
	for file, text := range kernelfake.NewGroup(dir, unified) {
		m.Settings.Put(file, text)
	}
	m.Write(fmt.Sprintf("proc/%d/cgroup", pid), line)
	m.Write(dir+"/cgroup.procs", fmt.Sprintf("%d\n", pid))
	return dir
}

// Sources is the machine as an attr.Machine reads it, for a user with CAP_SYS_NICE.
func (m *Machine) Sources() attr.Sources {
	return attr.Sources{
		Sched: m.Fake, Files: m.Settings, Proc: m,
		EUID:   func() int { return User },
		Rights: func() (kernel.Capabilities, error) { return 1 << kernel.CapSysNice, nil },
		Limits: func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, nil }, Initial: func(string) bool { return true },
	}
}

// NoRights is a Rights of attr.Sources.
func NoRights() (kernel.Capabilities, error) { return 0, nil }

// Tuner returns a Tuner of the machine; what o leaves open is as in Sources.
func (m *Machine) Tuner(o change.Options) *change.Tuner {
	s := m.Sources()
	if o.Rights != nil {
		s.Rights = o.Rights
	}
	if o.EUID != nil {
		s.EUID = o.EUID
	}
	if o.Limits != nil {
		s.Limits = o.Limits
	}
	o.Sources, o.Writer, o.FileWriter = s, m.Fake, m.Settings
	if o.Clock == nil {
		o.Clock = &clock{now: time.Unix(1_800_000_000, 0)}
	}
	return change.New(o)
}

// clock passes when somebody sleeps, and a little whenever it is looked at.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.Sleep(time.Microsecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// store is what becomes of a text that is written to a file of a process.
func (m *Machine) store(pid kernel.TID, name, text string) error {
	var nice int
	if _, err := fmt.Sscanf(text, "%d\n", &nice); err != nil || name != "autogroup" {
		return fmt.Errorf("write %q to %s of %d", text, name, pid)
	}
	m.Groups[m.session(pid)] = nice
	return nil
}

func (m *Machine) session(pid kernel.TID) string {
	if name, ok := m.Sessions[pid]; ok {
		return name
	}
	return m.Sessions[0]
}

// list is the List of Proc.
func (m *Machine) list(pid kernel.TID) ([]kernel.TID, error) {
	if m.OnList != nil && pid != 0 {
		m.OnList(pid)
	}
	return m.Fake.List(pid)
}

// Cgroup is part of attr.Processes: version 1 beside 2 where no file says otherwise.
func (m *Machine) Cgroup(pid kernel.TID) (procfs.Cgroups, error) {
	data, err := m.File(fmt.Sprint(pid), "cgroup")
	if err != nil {
		data = []byte("3:cpuset:/\n1:cpu:/\n0::/\n")
	}
	return procfs.ParseCgroup(data)
}

// Autogroup is part of attr.Processes.
func (m *Machine) Autogroup(pid kernel.TID) (string, int, error) {
	name := m.session(pid)
	return name, m.Groups[name], nil
}

// Sysctl is part of attr.Processes.
func (m *Machine) Sysctl(name string) (int64, error) { return m.Sysctls[name], nil }
