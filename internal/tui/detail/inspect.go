package detail

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/taskfacts"
)

// Thread is what was read of one thread.
type Thread struct {
	TID     kernel.TID
	Comm    string // as the kernel has it: not safe to print
	State   byte
	CPU     int // last one
	Policy  kernel.Policy
	Nice    int
	RTPrio  int
	Start   uint64 // ticks after boot
	Allowed cpuset.Set
	Counters
}

// Counters are a thread's since it began.
type Counters struct {
	Ticks      uint64 // CPU time, USER_HZ
	Migrations uint64 // to another CPU
	RunDelayNs uint64
	// HaveMigrations and HaveDelay are unset on kernels without the files sched
	// (CONFIG_SCHED_DEBUG before 6.15) and schedstat (CONFIG_SCHED_INFO).
	HaveMigrations, HaveDelay bool
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
	At      time.Time
	Threads []Thread
	Total   int // threads there are; more than len(Threads) when they are very many
	Confinement
	Err string // why nothing could be read
}

// mostThreads bounds what is read at each tick for a process of thousands of
// threads.
const mostThreads = 256

// Cpusets reads what a process's cgroup allows; action.Tuner does.
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
	r := Reading{PID: pid, At: time.Now()}
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
	t := Thread{TID: tid, Comm: string(stat.Comm), State: stat.State, CPU: int(stat.LastCPU), Start: stat.StartTicks,
		Policy: stat.Policy, Nice: int(stat.Nice), RTPrio: int(stat.RTPrio), Counters: Counters{Ticks: stat.UserTicks + stat.SystemTicks}}
	if sched, err := in.FS.Sched(pid, tid); err == nil {
		t.Migrations, t.HaveMigrations = sched.Migrations, true
	}
	if delay, err := in.FS.Schedstat(pid, tid); err == nil {
		t.RunDelayNs, t.HaveDelay = delay.RunDelayNs, true
	}
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

// Facts reads files, sockets and I/O of a process.
func (in Inspector) Facts(pid kernel.TID) taskfacts.Facts {
	return taskfacts.Read(context.Background(), in.FS.Root(), pid)
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
