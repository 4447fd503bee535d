package detail

import (
	"context"
	"fmt"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/taskfacts"
)

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
	Threads []*sample.Task // a row each (sample.ReadThreads)
	Total   int            // threads there are; more than len(Threads) when they are very many
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
	var err error
	if r.Threads, r.Total, err = sample.ReadThreads(in.FS, pid, mostThreads); err != nil {
		r.Err = fmt.Sprintf("process %d cannot be read: %v", pid, err)
		if procfs.Gone(err) {
			r.Err = fmt.Sprintf("process %d has ended", pid)
		}
		return r
	}
	r.Confinement = in.confinement(pid)
	return r
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
	slices.Sort(env)
	return env, err
}
