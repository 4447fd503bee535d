package tune

import (
	"path/filepath"
	"sync"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// bounds are what keeps tasks from CPUs, asked once each: it is for one plan.
type bounds struct {
	tuner  *Tuner
	online func() (cpuset.Set, error)
	limits map[kernel.TID]limit // by process
	// blind: nothing may be asked, because who asks must not wait for a task that
	// gets no CPU, and /proc/PID/cgroup takes the lock that all cgroups share.
	blind bool
}

func (t *Tuner) bounds() bounds {
	return bounds{tuner: t, online: sync.OnceValues(t.online), limits: map[kernel.TID]limit{}}
}

// limit is the CPUs that a process's cpuset allows, and the cgroup that says so.
type limit struct {
	cpus   cpuset.Set
	cgroup string
	err    error
}

// cpuset is Tuner.Cpuset, asked once for each process: its threads share it, but
// in a threaded cgroup, where the kernel has the last word all the same.
func (b *bounds) cpuset(pid kernel.TID) limit {
	l, known := b.limits[pid]
	if !known {
		l.cpus, l.cgroup, l.err = b.tuner.Cpuset(pid)
		b.limits[pid] = l
	}
	return l
}

// usable are the CPUs that the process could have now; ok is false if that is not known.
func (b *bounds) usable(pid kernel.TID) (cpus cpuset.Set, ok bool) {
	if b.blind {
		return cpuset.Set{}, false
	}
	online, err := b.online()
	l := b.cpuset(pid)
	return online.And(l.cpus), err == nil && l.err == nil
}

// unbound reports whether an affinity is all that the task could have now, so that
// by all one can see nobody chose it. sched_getaffinity(2) tells no CPU that is
// offline or outside the cpuset, so what is written back must be more than what was
// read, or the task could not follow when those are there. Kernel threads are for
// the kernel to place: to a node, say, or away from the CPUs of nohz_full.
func (b *bounds) unbound(c Change) bool {
	if c.Attribute != Affinity {
		return false
	}
	set, err := cpuset.Parse(c.After)
	usable, ok := b.usable(c.PID)
	if err != nil || !ok || !usable.SubsetOf(set) {
		return false
	}
	k, err := b.tuner.look(c.PID, c.TID)
	return err == nil && k.flags&flagKernelThread == 0
}

// cutTo reports whether now is what is left of an affinity on this machine as it
// is: nobody changed it, a CPU went offline or the cpuset is another.
func (b *bounds) cutTo(c Change, left, now string) bool {
	if c.Attribute != Affinity {
		return false
	}
	was, err := cpuset.Parse(left)
	is, errNow := cpuset.Parse(now)
	usable, ok := b.usable(c.PID)
	return err == nil && errNow == nil && ok && is.Equal(was.And(usable))
}

// possible are the CPUs that the machine could ever have.
func (t *Tuner) possible() (cpuset.Set, error) {
	return readSet(filepath.Join(t.o.Proc.Root(), "sys/devices/system/cpu/possible"))
}
