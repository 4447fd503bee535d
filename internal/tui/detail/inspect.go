package detail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/change/attr"
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
	Online  cpuset.Set // CPUs, now; the topology is that of the start
	Lapsed  string     // that a pin of it is no longer in force, and why; "" if none is
}

// Reading is what was read of one process at one moment for the pane.
type Reading struct {
	PID     kernel.TID
	At      time.Time
	Threads []*sample.Task // a row each (sample.ReadThreads)
	Total   int            // threads there are; more than len(Threads) when they are very many
	Confinement
	Where, Rule string // where it competes for CPUs, and by which rule (attr.Machine.Competition)
	Err         string // why nothing could be read
}

// mostThreads bounds what is read at each tick for a process of thousands of
// threads.
const mostThreads = 256

// Tuner reads what confines a process; change.Tuner does.
type Tuner interface {
	// Cpuset is what its control group allows, and that group.
	Cpuset(pid kernel.TID) (cpus cpuset.Set, cgroup string, err error)
	// Competition is where it competes for CPUs, and by which rule.
	Competition(pid kernel.TID) (where, rule string)
	// LapsedPin says that pins of threads of one process are no longer in force, each with
	// the affinity that it has now as its After.
	LapsedPin(threads []attr.Change) string
}

// Inspector reads one process for the pane. It is used from commands, beside the
// screen.
type Inspector struct {
	FS    procfs.FS
	Tuner Tuner // nil = what confines it is not known
}

// Read reads the threads of a process and what confines it.
func (in Inspector) Read(pid kernel.TID) Reading {
	r := Reading{PID: pid, At: time.Now()}
	var err error
	r.Threads, r.Total, err = sample.ReadThreads(in.FS, pid, mostThreads)
	return r.Confined(err, in.FS, in.Tuner)
}

// Confined is a reading of the threads, which failed with err, with what confines the process.
func (r Reading) Confined(err error, proc attr.Processes, tuner Tuner) Reading {
	if err != nil {
		r.Err = fmt.Sprintf("process %d cannot be read: %v", r.PID, err)
		if procfs.Gone(err) || errors.Is(err, procfs.ErrGone) {
			r.Err = fmt.Sprintf("process %d has ended", r.PID)
		}
		return r
	}
	if status, err := proc.Status(r.PID); err == nil {
		r.Allowed = status.CPUsAllowed
	}
	r.Online, _ = attr.ReadCPUs(proc.Root(), "online") // empty: not known
	if tuner == nil {
		r.Confinement.Err = "not known here"
		return r
	}
	if r.Cpuset, r.Owner, err = tuner.Cpuset(r.PID); err != nil {
		r.Cpuset, r.Owner, r.Confinement.Err = cpuset.Set{}, "", "its cgroup's cpuset cannot be read"
	}
	r.Where, r.Rule = tuner.Competition(r.PID)
	r.Lapsed = tuner.LapsedPin(affinities(r.PID, r.Threads))
	return r
}

func affinities(pid kernel.TID, threads []*sample.Task) (out []attr.Change) {
	for _, t := range threads {
		if t.Have&sample.HaveAffinity != 0 {
			out = append(out, attr.Change{Object: attr.Object{PID: pid, TID: t.TID, StartTicks: t.StartTicks}, Attribute: attr.Affinity, After: t.Affinity})
		}
	}
	return out
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
