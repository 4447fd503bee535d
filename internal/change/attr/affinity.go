package attr

import (
	"errors"
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// Affinity is the CPUs that a thread may run on (sched_setaffinity(2)), a
// cpuset.Set, "0-3".
const Affinity Attribute = "affinity"

var affinity = spec{
	cpus: true, parse: parseCPUs,
	read: func(m *Machine, o Object) (Value, error) { return m.Sched.Affinity(o.TID) },
	write: func(w Write) error {
		mask := CPUs(w.Change.After)
		if w.Change.Widen {
			if possible, err := w.cpus("possible"); err == nil && mask.SubsetOf(possible) {
				mask = possible // the kernel cuts it to what was read
			}
		}
		return w.Task.SetAffinity(mask)
	},
	prepare: prepareAffinity, adjusted: cutAffinity, explain: explainAffinity,
	words: func(v Value) string { return CPUs(v).InWords() },
	setBy: []string{"tuned", "numad", "CPUAffinity", "AllowedCPUs", "StartupAllowedCPUs"},
}

// SetAffinity asks for CPUs.
func SetAffinity(cpus cpuset.Set) Setting { return Setting{Affinity, cpus} }

// CPUs is the set of a value that is one, else none.
func CPUs(v Value) cpuset.Set {
	set, _ := v.(cpuset.Set)
	return set
}

func parseCPUs(text string) (Value, error) {
	set, err := cpuset.Parse(text)
	switch {
	case err != nil:
		return nil, Usagef("%v", err)
	case set.Empty():
		return nil, Usagef("the list of CPUs is empty: it needs at least one")
	}
	return set, nil
}

// prepareAffinity refuses masks that the kernel is known to refuse, and warns of
// those that it will cut.
func prepareAffinity(v *View, k Task, c *Change) {
	want, now := CPUs(c.After), CPUs(c.Before)
	switch {
	case withLine(v, k, c):
		return
	case k.Flags&flagNoSetAffinity != 0:
		c.Refuse("%s", unmovable(k.Comm))
		return
	case want.SubsetOf(now):
		return // inside what it may use already, so nothing is cut
	}
	online, err := v.OnlineCPUs()
	if err == nil && want.And(online).Empty() {
		c.Refuse("%s", Absent(want, online))
		return
	}
	if err == nil && !want.SubsetOf(online) {
		v.Warn(Note, "%s; the kernel leaves out what is not", Absent(want.AndNot(online), online))
	}
	l := v.cpuset(k.PID)
	if l.err != nil || want.And(online).SubsetOf(l.cpus) {
		return
	}
	if want.And(l.cpus).Empty() {
		v.Warn(Note, "cgroup %s allows %d only %s: the kernel will refuse %s", l.cgroup, k.PID, l.cpus.InWords(), want.InWords())
		return
	}
	v.Warn(Note, "cgroup %s allows %d only %s: the kernel will cut %s to %s", l.cgroup, k.PID, l.cpus.InWords(), want, want.And(l.cpus))
}

// withLine plans for a handler's thread whose interrupt line is in the plan as
// well: it stays if that stays, and since Linux 7 the kernel alone moves it.
func withLine(v *View, k Task, c *Change) bool {
	line, ok := irq.ThreadLine(k.Comm)
	if !ok {
		return false
	}
	switch planned := v.Find(Key{Attribute: IRQAffinity, Path: irq.AffinityFile(line)}); {
	case planned == nil:
		return false
	case planned.Status == Refused:
		c.Refuse("its interrupt stays where it is: %s", planned.Reason)
	case k.Flags&flagNoSetAffinity != 0:
		c.After, c.Status, c.Reason = c.Before, Unchanged, "the kernel moves it with its interrupt"
	default:
		return false
	}
	return true
}

// cutAffinity recognises the kernel's silent intersection with the cpuset and the
// online CPUs: success, with fewer CPUs than were asked for.
func cutAffinity(m *Machine, c *Change, now Value) bool {
	got, asked := CPUs(now), CPUs(c.After)
	if !got.SubsetOf(asked) {
		return false
	}
	missing, force := asked.AndNot(got), got.InWords()+" "+isAre(got.Len())
	if online, err := m.Online(); err == nil && missing.And(online).Empty() {
		c.Reason = fmt.Sprintf("%s in force: %s", force, Absent(missing, online))
		return true
	}
	if limit, cgroup, err := m.Cpuset(c.PID); err == nil && missing.And(limit).Empty() {
		c.Reason = fmt.Sprintf("%s in force: cgroup %s allows only %s", force, cgroup, limit.InWords())
		return true
	}
	c.Reason = fmt.Sprintf("%s in force: the kernel left out %s", force, missing)
	return !got.Equal(CPUs(c.Before)) // else somebody has set it back
}

// explainAffinity tells the causes of EINVAL apart: a per-CPU kernel thread, CPUs
// that are not there, and the cpuset.
func explainAffinity(m *Machine, c Change, err error) string {
	if errors.Is(err, syscall.EBUSY) {
		return "it is a DEADLINE task, and those cannot be moved; give it another policy first"
	}
	if !errors.Is(err, syscall.EINVAL) {
		return ""
	}
	want := CPUs(c.After)
	if k, err := m.Look(c.PID, c.TID); err == nil && k.Flags&flagNoSetAffinity != 0 {
		return unmovable(k.Comm)
	}
	online, err := m.Online()
	if err == nil && want.And(online).Empty() {
		return Absent(want, online)
	}
	limit, cgroup, err := m.Cpuset(c.PID)
	if err == nil && want.And(limit).Empty() {
		return fmt.Sprintf("its cgroup %s allows only %s, and %s is outside; choose among those, or widen the group's cpuset.cpus",
			cgroup, limit.InWords(), want)
	}
	return fmt.Sprintf("nothing of %s is usable for it: not online, or outside its cpuset", want.InWords())
}

func unmovable(comm string) string {
	if line, ok := irq.ThreadLine(comm); ok {
		return fmt.Sprintf("%s handles interrupt %d and goes where that goes: piton irq move %d", Printable(comm), line, line)
	}
	return Printable(comm) + " is a kernel thread that belongs to its CPU; the kernel does not let it move"
}

// Absent says that CPUs are not there.
func Absent(cpus, online cpuset.Set) string {
	return fmt.Sprintf("%s %s not online here (online: %s)", cpus.InWords(), isAre(cpus.Len()), online)
}

// usable are the CPUs that the process could have now; ok is false if that is not known.
func (v *View) usable(pid kernel.TID) (cpus cpuset.Set, ok bool) {
	if v.Blind {
		return cpuset.Set{}, false
	}
	online, err := v.OnlineCPUs()
	l := v.cpuset(pid)
	return online.And(l.cpus), err == nil && l.err == nil
}

// Unbound reports whether an affinity is all that the task could have now, so that
// by all one can see nobody chose it. sched_getaffinity(2) tells no CPU that is
// offline or outside the cpuset, so what is written back must be more than what was
// read, or the task could not follow when those are there. Kernel threads are for
// the kernel to place: to a node, say, or away from the CPUs of nohz_full.
func (v *View) Unbound(c Change) bool {
	if c.Attribute != Affinity {
		return false
	}
	usable, ok := v.usable(c.PID)
	if !ok || !usable.SubsetOf(CPUs(c.After)) {
		return false
	}
	k, err := v.Look(c.PID, c.TID)
	return err == nil && !k.IsKernel()
}

// CutTo reports whether now is what is left of an affinity on this machine as it
// is: nobody changed it, a CPU went offline or the cpuset is another.
func (v *View) CutTo(c Change, left, now Value) bool {
	if c.Attribute != Affinity {
		return false
	}
	usable, ok := v.usable(c.PID)
	return ok && CPUs(now).Equal(CPUs(left).And(usable))
}

// FollowsIRQ recognises a handler's thread that the kernel has put on the CPU to
// which its line really goes, one of those that the thread had (kernel/irq/manage.c,
// irq_thread_check_affinity): that is nobody's change. The kernel does it with the
// next interrupt, so it may come at any time.
func FollowsIRQ(c Change, had, now Value) bool {
	if _, handler := irq.ThreadLine(c.Comm); !handler || c.Attribute != Affinity {
		return false
	}
	got := CPUs(now)
	return !got.Empty() && got.SubsetOf(CPUs(had))
}
