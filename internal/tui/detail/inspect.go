package detail

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Thread is what the pane shows of one thread.
type Thread struct {
	TID     kernel.TID
	Comm    string // as the kernel has it: not safe to print
	State   byte
	CPU     int // last one
	Policy  kernel.Policy
	Nice    int
	RTPrio  int
	Ticks   uint64 // CPU time used, USER_HZ
	Allowed cpuset.Set
}

// Confinement explains where a process may run.
type Confinement struct {
	Allowed cpuset.Set // what the kernel says: the mask cut to the rest
	Cpuset  cpuset.Set // what its cgroup allows; empty when unknown
	Owner   string     // that cgroup
	Err     string     // why Cpuset is unknown
}

// Reading is what was read of one process at one moment for the pane.
type Reading struct {
	PID     kernel.TID
	Threads []Thread
	Total   int // threads there are; more than len(Threads) when they are very many
	Confinement
	Err string // why nothing could be read
}

// mostThreads bounds what is read at each tick for a process of thousands of
// threads.
const mostThreads = 256

// Cpusets tells what a process's cgroup allows; tune.Tuner does.
type Cpusets interface {
	Cpuset(pid kernel.TID) (cpus cpuset.Set, cgroup string, err error)
}

// Inspector reads one process for the pane. It is used from commands, beside the
// screen.
type Inspector struct {
	FS      procfs.FS
	Cpusets Cpusets // nil = the cgroup's limit is not known
}

// Read reads the threads of a process and what confines it.
func (in Inspector) Read(pid kernel.TID) Reading {
	r := Reading{PID: pid}
	tids, err := in.FS.Threads(pid)
	if err != nil {
		r.Err = fmt.Sprintf("process %d cannot be read: %v", pid, err)
		if procfs.Gone(err) {
			r.Err = fmt.Sprintf("process %d has ended", pid)
		}
		return r
	}
	r.Total = len(tids)
	for _, tid := range tids[:min(len(tids), mostThreads)] {
		if t, ok := in.thread(pid, tid); ok {
			r.Threads = append(r.Threads, t)
		}
	}
	r.Confinement = in.confinement(pid)
	return r
}

// thread reads one thread; a thread that ended meanwhile is left out.
func (in Inspector) thread(pid, tid kernel.TID) (Thread, bool) {
	stat, err := in.FS.ThreadStat(pid, tid)
	if err != nil {
		return Thread{}, false
	}
	t := Thread{TID: tid, Comm: string(stat.Comm), State: stat.State, CPU: int(stat.LastCPU),
		Policy: stat.Policy, Nice: int(stat.Nice), RTPrio: int(stat.RTPrio), Ticks: stat.UserTicks + stat.SystemTicks}
	if status, err := in.FS.ThreadStatus(pid, tid); err == nil {
		t.Allowed = status.CPUsAllowed
	}
	return t, true
}

func (in Inspector) confinement(pid kernel.TID) Confinement {
	var c Confinement
	if status, err := in.FS.Status(pid); err == nil {
		c.Allowed = status.CPUsAllowed
	}
	if in.Cpusets == nil {
		c.Err = "not known here"
		return c
	}
	set, owner, err := in.Cpusets.Cpuset(pid)
	if err != nil {
		c.Err = "its cgroup's cpuset cannot be read"
		return c
	}
	c.Cpuset, c.Owner = set, owner
	return c
}

// Environ returns the environment that a process was started with, sorted.
func (in Inspector) Environ(pid kernel.TID) ([]string, error) {
	env, err := in.FS.Environ(pid)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(env, strings.Compare)
	return env, nil
}
