package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

// machine is a fake machine: tasks in memory, and a directory for the files of
// /proc and /sys that are read by name.
type machine struct {
	*kerneltest.Fake
	files *kerneltest.Files
	t     *testing.T
	root  string
	tasks map[kernel.TID]*procfs.Stat
	tgid  map[kernel.TID]kernel.TID
	uid   map[kernel.TID]uint32
	run   map[kernel.TID]uint64 // ns added at each look at schedstat
	ran   map[kernel.TID]uint64
	auto  bool
	onTID func(pid kernel.TID) // called before each listing of threads

	sysctls map[string]int64 // beside the usual ones
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{
		Fake: kerneltest.New(t), files: kerneltest.NewFiles(), t: t, root: t.TempDir(),
		tasks: map[kernel.TID]*procfs.Stat{}, tgid: map[kernel.TID]kernel.TID{}, uid: map[kernel.TID]uint32{},
		run: map[kernel.TID]uint64{}, ran: map[kernel.TID]uint64{},
	}
	m.write("sys/devices/system/cpu/online", "0-3\n")
	m.write("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"+
		"34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"+
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n")
	m.write("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-3\n")
	t.Cleanup(func() { require.Zero(t, m.OpenHandles(), "handles leaked") })
	return m
}

func (m *machine) write(name, content string) {
	path := filepath.Join(m.root, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(content), 0o600))
}

// spawn adds a thread of process pid with CPUs 0-3, OTHER, nice 0.
func (m *machine) spawn(pid, tid kernel.TID) {
	m.spawnAs(pid, tid, kerneltest.Task{Affinity: cpuset.Of(0, 1, 2, 3)})
}

func (m *machine) spawnAs(pid, tid kernel.TID, task kerneltest.Task) {
	m.tasks[tid] = &procfs.Stat{TID: tid, Comm: []byte("job"), State: 'S', PPID: 1, StartTicks: 1000 + uint64(tid)}
	m.tgid[tid] = pid
	m.uid[tid] = fakeUser
	task.TGID = pid
	m.Create(tid, task)
}

// end makes a thread end.
func (m *machine) end(tid kernel.TID) {
	delete(m.tasks, tid)
	delete(m.tgid, tid)
	m.Kill(tid)
}

func (m *machine) tuner(o Options) *Tuner {
	o.Sched, o.Files, o.Proc = m.Fake, m.files, m
	if o.Rights == nil {
		o.Rights = func() (kernel.Capabilities, error) { return 1 << kernel.CapSysNice, nil }
	}
	if o.EUID == nil {
		o.EUID = func() int { return fakeUser }
	}
	if o.Limits == nil {
		o.Limits = func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, nil }
	}
	return New(o)
}

// fakeUser owns the fake tasks and runs piton.
const fakeUser = 1000

func noRights() (kernel.Capabilities, error) { return 0, nil }

func (m *machine) Live() bool   { return true }
func (m *machine) Root() string { return m.root }

func (m *machine) File(elem ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{m.root, "proc"}, elem...)...))
}

func (m *machine) list(keep func(tid, pid kernel.TID) bool) []kernel.TID {
	var out []kernel.TID
	for tid, pid := range m.tgid {
		if keep(tid, pid) {
			out = append(out, tid)
		}
	}
	slices.Sort(out)
	return out
}

func (m *machine) Processes() ([]kernel.TID, error) {
	return m.list(func(tid, pid kernel.TID) bool { return tid == pid }), nil
}

func (m *machine) Threads(pid kernel.TID) ([]kernel.TID, error) {
	if m.onTID != nil {
		m.onTID(pid)
	}
	out := m.list(func(_, p kernel.TID) bool { return p == pid })
	if len(out) == 0 {
		return nil, gone(pid)
	}
	return out, nil
}

func gone(tid kernel.TID) error { return fmt.Errorf("read %d: %w", tid, ErrGone) }

func (m *machine) Stat(pid kernel.TID) (procfs.Stat, error) { return m.ThreadStat(pid, pid) }

func (m *machine) ThreadStat(pid, tid kernel.TID) (procfs.Stat, error) {
	st := m.tasks[tid]
	if st == nil || m.tgid[tid] != pid {
		return procfs.Stat{}, gone(tid)
	}
	return *st, nil
}

func (m *machine) Status(tid kernel.TID) (procfs.Status, error) {
	st := m.tasks[tid]
	if st == nil {
		return procfs.Status{}, gone(tid)
	}
	return procfs.Status{Comm: string(st.Comm), TGID: m.tgid[tid], UID: m.uid[tid], EUID: m.uid[tid]}, nil
}

func (m *machine) Schedstat(_, tid kernel.TID) (procfs.Schedstat, error) {
	m.ran[tid] += m.run[tid]
	return procfs.Schedstat{RunNs: m.ran[tid]}, nil
}

func (m *machine) Cgroup(pid kernel.TID) (procfs.Cgroups, error) {
	data, err := os.ReadFile(filepath.Join(m.root, fmt.Sprintf("proc/%d/cgroup", pid)))
	if err != nil {
		data = []byte("3:cpuset:/\n1:cpu:/\n0::/\n")
	}
	return procfs.ParseCgroup(data)
}

func (m *machine) Autogroup(kernel.TID) (string, int, error) { return "/autogroup-1", 0, nil }

func (m *machine) Sysctl(name string) (int64, error) {
	if n, ok := m.sysctls[name]; ok {
		return n, nil
	}
	switch {
	case name == "kernel/sched_autogroup_enabled" && m.auto:
		return 1, nil
	case name == "kernel/sched_rt_runtime_us":
		return 950_000, nil
	case name == "kernel/sched_rt_period_us":
		return 1_000_000, nil
	}
	return 0, nil
}
