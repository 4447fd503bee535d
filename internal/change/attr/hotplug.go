package attr

import (
	"errors"
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// CheckOffline notes whether CPUs are offline that could come online, those of a virtual machine
// that are added later too, so that masks are read with them. It is asked once for each plan, and
// again when that is carried out.
func (m *Machine) CheckOffline() (some bool) {
	some = !m.unplugged().Empty()
	m.offline.Store(some)
	return some
}

// unplugged are the CPUs that could come online; none where that is not known.
func (m *Machine) unplugged() cpuset.Set {
	online, err := m.Online()
	possible, possibleErr := m.cpus("possible")
	if err != nil || possibleErr != nil {
		return cpuset.Set{}
	}
	return possible.AndNot(online)
}

// CPUsAllowed is a thread's mask. sched_getaffinity(2) takes 0.5 µs, but leaves out the CPUs that
// are offline; /proc/TID/status takes 8 µs and has them.
func (m *Machine) CPUsAllowed(tid kernel.TID) (cpuset.Set, error) {
	if !m.offline.Load() {
		return m.Sched.Affinity(tid)
	}
	st, err := m.Proc.Status(tid)
	if errors.Is(err, ErrGone) {
		err = fmt.Errorf("%w: %w", err, syscall.ESRCH) // as of the system call
	}
	return st.CPUsAllowed, err
}

// kthreadd is the parent of all kernel threads.
const kthreadd kernel.TID = 2

// rcuLeaf is how many CPUs share a thread of RCU (RCU_FANOUT_LEAF), which begins at a multiple.
const rcuLeaf = 16

// Had is what an undo gives back instead of the Before of a kernel thread's affinity; empty where
// that is what the thread had. The kernel takes an offline CPU out of the masks of some threads of
// its own (rcutree_affinity_setting of kernel/rcu/tree.c) and gives it back later, but since Linux
// 6.2 not beyond what sched_setaffinity(2) set last: who sets what such a thread has now takes the
// CPU from it for good. kthreadd keeps its offline CPUs, so what is like kthreadd's mask but for
// those was the same.
func (v *View) Had(k Task, c Change) cpuset.Set {
	before := CPUs(c.Before)
	if c.Attribute != Affinity || !k.IsKernel() || before.Empty() || !v.offline.Load() {
		return cpuset.Set{}
	}
	all, offline := v.free()
	var leaves cpuset.Builder
	leaves.AddRange(before.First()/rcuLeaf*rcuLeaf, before.Last()/rcuLeaf*rcuLeaf+rcuLeaf-1)
	for _, had := range []cpuset.Set{all, all.And(leaves.Set())} {
		if !had.Equal(before) && had.AndNot(offline).Equal(before) {
			return had
		}
	}
	return cpuset.Set{}
}

// Lapsed reports whether an affinity that was set is no longer in force because the kernel gave
// the task all CPUs that it may use: it does so, for good, with a task that is runnable when the
// last of its CPUs goes offline (select_fallback_rq of kernel/sched/core.c). A task that sleeps
// keeps its mask, and so does one that is frozen, as in a suspend. gone are the CPUs that went
// offline; it is empty when one of them is online again: then somebody may have set it by hand
// as well.
func (v *View) Lapsed(c Change, left, now Value) (gone cpuset.Set, lapsed bool) {
	if c.Attribute != Affinity {
		return gone, false
	}
	online, err := v.OnlineCPUs()
	all, known := v.usable(c.PID)
	if v.Blind {
		all, known = online, err == nil
	}
	set := CPUs(left)
	if !known || all.Empty() || set.Empty() || !all.SubsetOf(CPUs(now)) || all.SubsetOf(set) {
		return gone, false
	}
	if set.And(online).Empty() {
		gone = set
	}
	return gone, true
}

// LapsedWhy is the reason of what Lapsed reports.
func LapsedWhy(gone cpuset.Set) string {
	if gone.Empty() {
		return "all CPUs were set by someone else, or by the kernel when a CPU went offline"
	}
	return gone.InWords() + " went offline"
}

// offlineLater says what the kernel does with CPUs of a new mask that are offline. Up to 6.1 it
// takes them out of the mask (__sched_setaffinity of kernel/sched/core.c); 6.12 and newer keep
// them. Both were seen in guests; what is between was not tried.
func (v *View) offlineLater(cpus cpuset.Set) string {
	it := "it"
	if cpus.Len() > 1 {
		it = "them"
	}
	possible, err := v.cpus("possible")
	switch {
	case err != nil || !cpus.SubsetOf(possible):
		return "the kernel leaves out what is not"
	case procfs.ReleaseAtLeast(v.Proc, 6, 12):
		return "the task may use " + it + " once online"
	case procfs.ReleaseAtLeast(v.Proc, 6, 2):
		return "the kernel may leave " + it + " out for good: look again when online"
	}
	return "this kernel leaves " + it + " out for good: set the affinity again when online"
}
