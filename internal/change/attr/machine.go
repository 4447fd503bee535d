package attr

import (
	"cmp"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// Processes is what is read of /proc; procfs.FS is the real one.
type Processes interface {
	Live() bool
	Root() string
	File(elem ...string) ([]byte, error)
	Processes() ([]kernel.TID, error)
	Threads(pid kernel.TID) ([]kernel.TID, error)
	Stat(pid kernel.TID) (procfs.Stat, error)
	ThreadStat(pid, tid kernel.TID) (procfs.Stat, error)
	Status(tid kernel.TID) (procfs.Status, error)
	Schedstat(pid, tid kernel.TID) (procfs.Schedstat, error)
	Cgroup(pid kernel.TID) (procfs.Cgroups, error)
	Autogroup(pid kernel.TID) (name string, nice int, err error)
	Sysctl(name string) (int64, error)
}

var _ Processes = procfs.FS{}

// Sources is where a Machine reads; what is nil is this machine's.
type Sources struct {
	Sched  kernel.Scheduler
	Files  kernel.Settings
	Proc   Processes
	EUID   func() int
	Rights func() (kernel.Capabilities, error) // what the caller may do
	Limits func(kernel.TID) (kernel.Limits, error)
	// Initial reports whether the caller is in the initial namespace of a kind ("user").
	Initial func(kind string) bool
	Inode   func(path string) (uint64, error) // of a file below Proc's root
}

// Machine is the read side of the machine, as attributes need it.
type Machine struct {
	Sources
	caps    func() kernel.Capabilities
	offline atomic.Bool // CheckOffline found some
	holders sync.Map    // a thread of this process (kernel.TID) by the cookie (uint64) that it was made to hold
}

// NewMachine returns the machine of the sources.
func NewMachine(s Sources) *Machine {
	s.Sched = cmp.Or(s.Sched, kernel.Scheduler(kernel.System()))
	s.Files = cmp.Or(s.Files, kernel.Settings(kernel.SystemFiles()))
	s.Proc = cmp.Or(s.Proc, Processes(procfs.New("/")))
	if s.EUID == nil {
		s.EUID = kernel.EUID
	}
	if s.Rights == nil {
		s.Rights = kernel.UsableCapabilities
	}
	if s.Limits == nil {
		s.Limits = kernel.ReadLimits
	}
	if s.Initial == nil {
		s.Initial = kernel.InitialNamespace
	}
	if s.Inode == nil {
		s.Inode = func(path string) (uint64, error) {
			info, err := tree.Stat(filepath.Join(s.Proc.Root(), path))
			if err != nil {
				return 0, err
			}
			st, _ := info.Sys().(*syscall.Stat_t)
			return st.Ino, nil
		}
	}
	// Without an answer there are none, so that sentences name what would be needed.
	return &Machine{Sources: s, caps: sync.OnceValue(func() kernel.Capabilities {
		caps, _ := s.Rights()
		return caps
	})}
}

// Has reports whether the caller is known to have a capability.
func (m *Machine) Has(c kernel.Capability) bool { return m.caps().Has(c) }

// Look reads one thread of a process.
func (m *Machine) Look(pid, tid kernel.TID) (Task, error) {
	st, err := m.Proc.ThreadStat(pid, tid)
	if err != nil {
		return Task{}, err
	}
	return Task{PID: pid, TID: tid, StartTicks: st.StartTicks, Comm: string(st.Comm), State: st.State, Flags: st.Flags, Threads: int(st.Threads)}, nil
}

// Online reads /sys/devices/system/cpu/online.
func (m *Machine) Online() (cpuset.Set, error) { return m.cpus("online") }

func (m *Machine) cpus(file string) (cpuset.Set, error) { return ReadCPUs(m.Proc.Root(), file) }

// ReadCPUs reads a list of CPUs in /sys/devices/system/cpu below a root: "online", "isolated".
func ReadCPUs(root, file string) (cpuset.Set, error) {
	return ReadSet(filepath.Join(root, "sys/devices/system/cpu", file))
}

// Ticks is the time since boot in USER_HZ, the unit of start times; 0 if it is not known.
func (m *Machine) Ticks() uint64 {
	if fs, ok := m.Proc.(procfs.FS); ok && fs.Live() {
		return uint64(kernel.Boottime() / (10 * time.Millisecond)) // USER_HZ is 100
	}
	up, _ := m.Proc.File("uptime")
	now, _ := procfs.ParseUptimeTicks(up) // 0 of nothing
	return now
}

// ReadSet reads a file that holds a cpulist.
func ReadSet(path string) (cpuset.Set, error) {
	data, err := procfs.ReadFile(path)
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(string(data))
}

// View is the machine during one plan: what keeps tasks from CPUs is asked once.
type View struct {
	*Machine
	// Blind: no cgroup may be read, because the caller must not wait for a task that
	// gets no CPU, and /proc/PID/cgroup takes the lock that all cgroups share.
	Blind bool
	// Warn is called with what the user is to read before the change is made.
	Warn func(kind Warning, format string, args ...any)
	// Find returns the planned change of the key, nil if there is none.
	Find func(Key) *Change
	// OnlineCPUs is Machine.Online, asked once.
	OnlineCPUs func() (cpuset.Set, error)

	free     func() (all, offline cpuset.Set) // what kthreadd may use, and what could come online
	limits   map[kernel.TID]limit             // by process
	fresh    uint64                           // the cookie made for this plan, 0 = none yet
	sessions map[string]kernel.TID            // autogroups of the plan, and the process that stands for each
	grouped  map[kernel.TID]bool              // processes of whose group was warned
	ext      func() string                    // Machine.SchedExt, asked once
}

// Warning is what a warning is about.
type Warning uint8

// The warnings.
const (
	Note   Warning = iota
	OneWay         // there is no way back without more rights
)

// NewView returns a View that discards warnings and finds nothing.
func (m *Machine) NewView() *View {
	m.CheckOffline()
	free := func() (all, offline cpuset.Set) {
		all, _ = m.CPUsAllowed(kthreadd) // none in a container, which sees no kernel threads
		return all, m.unplugged()
	}
	return &View{
		Machine: m, OnlineCPUs: sync.OnceValues(m.Online), free: sync.OnceValues(free), limits: map[kernel.TID]limit{}, sessions: map[string]kernel.TID{},
		grouped: map[kernel.TID]bool{}, ext: sync.OnceValue(m.SchedExt),
		Warn: func(Warning, string, ...any) {}, Find: func(Key) *Change { return nil },
	}
}

// limit is the CPUs that a process's cpuset allows, and the cgroup that says so.
type limit struct {
	cpus   cpuset.Set
	cgroup string
	err    error
}

// cpuset is Machine.Cpuset, asked once for each process: its threads share it, but
// in a threaded cgroup, where the kernel has the last word all the same.
func (v *View) cpuset(pid kernel.TID) limit {
	l, known := v.limits[pid]
	if !known {
		l.cpus, l.cgroup, l.err = v.Cpuset(pid)
		v.limits[pid] = l
	}
	return l
}

// Cpuset returns the CPUs that the process's cpuset allows, and the cgroup
// that says so (cpuset(7), cgroups(7)).
func (m *Machine) Cpuset(pid kernel.TID) (cpuset.Set, string, error) {
	g, err := m.Cgroup(pid, "cpuset")
	if err != nil {
		return cpuset.Set{}, "", err
	}
	name := "cpuset.effective_cpus"
	if g.Unified {
		name = "cpuset.cpus.effective"
	}
	// In version 2 a group without the controller has no such file and is
	// limited by the nearest group above that has.
	for path := g.Path; ; path = filepath.Dir(path) {
		set, err := ReadSet(g.File(path, name))
		if err == nil || path == "/" || !g.Unified {
			return set, path, err
		}
	}
}

// CgroupDir is a process's place in the hierarchy of one controller.
type CgroupDir struct {
	procfs.CgroupMount
	Path string // as /proc/PID/cgroup has it
}

// Cgroup finds where the process is in the hierarchy of a controller: version
// 1's own, else the unified one.
func (m *Machine) Cgroup(pid kernel.TID, controller string) (CgroupDir, error) {
	groups, err := m.Proc.Cgroup(pid)
	if err != nil {
		return CgroupDir{}, err
	}
	path, ok := groups.Controller(controller)
	if !ok {
		if path, ok = groups.Unified(); !ok {
			return CgroupDir{}, fmt.Errorf("process %d is in no %s cgroup", pid, controller)
		}
		controller = "" // of version 1, which no mount has
	}
	mount, err := procfs.New(m.Proc.Root()).CgroupMount(controller)
	if err != nil {
		return CgroupDir{}, err
	}
	return CgroupDir{mount, path}, nil
}
