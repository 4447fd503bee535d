package attr

import (
	"cmp"
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kthread"
)

// Affinity is the CPUs that a thread may run on (sched_setaffinity(2)), a
// cpuset.Set, "0-3".
const Affinity Attribute = "affinity"

var affinity = spec{
	cpus: true, parse: parseCPUs,
	read: func(m *Machine, o Object) (Value, error) { return m.CPUsAllowed(o.TID) },
	write: func(w Write) error {
		mask := CPUs(w.Change.After)
		if w.Change.Widen {
			if possible, err := w.cpus("possible"); err == nil && mask.SubsetOf(possible) {
				mask = possible // the kernel cuts it to what was read
			}
		}
		return w.Task.SetAffinity(mask)
	},
	prepare: prepareAffinity, adjusted: keptCPUs, explain: explainAffinity,
	causes: map[syscall.Errno]string{syscall.EBUSY: "it is a DEADLINE task, and those cannot be moved; give it another policy first"},
	words:  func(v Value) string { return CPUs(v).InWords() },
	setBy:  []string{"tuned", "numad", "CPUAffinity", "AllowedCPUs", "StartupAllowedCPUs"},
}

// SetAffinity asks for CPUs.
func SetAffinity(cpus cpuset.Set) Setting { return Setting{Affinity, cpus} }

// CPUs is the set of a value that is one, else none.
func CPUs(v Value) cpuset.Set {
	set, _ := v.(cpuset.Set)
	return set
}

// parseCPUs reads a list of at least one CPU.
func parseCPUs(text string) (Value, error) {
	v, err := parseAnyCPUs(text)
	if err == nil && CPUs(v).Empty() {
		return nil, Usagef("the list of CPUs is empty: it needs at least one")
	}
	return v, err
}

// prepareAffinity refuses masks that the kernel is known to refuse, and warns of
// those that it will cut.
func prepareAffinity(v *View, k Task, c *Change) {
	want := CPUs(c.After)
	online, err := v.OnlineCPUs()
	switch {
	case withLine(v, k, c):
		return
	case !k.Movable():
		c.Refuse("%s", unmovable(k.Comm))
		return
	case err == nil && want.SubsetOf(CPUs(c.Before).And(online)):
		return // inside what it may use already, so nothing is cut
	}
	if v.checkOnline(c, "", v.offlineLater); c.Status != Planned {
		return
	}
	l := v.cpuset(k.PID)
	if l.err != nil || want.And(online).SubsetOf(l.cpus) {
		return
	}
	effect := fmt.Sprintf("cut %s to %s", want, want.And(l.cpus))
	if want.And(l.cpus).Empty() {
		effect = "refuse " + want.InWords()
	}
	v.Warn(Note, "cgroup %s allows %d only %s: the kernel will %s", l.cgroup, k.PID, l.cpus.InWords(), effect)
}

// checkOnline refuses CPUs of which none is online, and warns of those that are not,
// and what becomes of those, unless they are a file's already.
func (v *View) checkOnline(c *Change, before string, later func(cpuset.Set) string) {
	want := CPUs(c.After)
	online, err := v.OnlineCPUs()
	switch {
	case err != nil || want.SubsetOf(online) || c.IsFile() && want.SubsetOf(online.Or(CPUs(c.Before))):
	case want.And(online).Empty():
		c.Refuse("%s", Absent(want, online))
	default:
		text := before + Absent(want.AndNot(online), online)
		if later != nil {
			text += "; " + later(want.AndNot(online))
		}
		v.Warn(Note, "%s", text)
	}
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
	case !k.Movable():
		c.After, c.Status, c.Reason = c.Before, Unchanged, "the kernel moves it with its interrupt"
	default:
		return false
	}
	return true
}

// keptCPUs recognises what the kernel keeps of a mask without an error: the CPUs that
// are online and, of a task's, in its cpuset.
func keptCPUs(m *Machine, c *Change, now Value) bool {
	got, asked := CPUs(now), CPUs(c.After)
	if got.Empty() || !got.SubsetOf(asked) {
		return false
	}
	missing, why := asked.AndNot(got), ""
	if online, err := m.Online(); err == nil && missing.And(online).Empty() {
		why = Absent(missing, online)
	} else if !c.IsFile() {
		if limit, cgroup, err := m.Cpuset(c.PID); err == nil && missing.And(limit).Empty() {
			why = fmt.Sprintf("cgroup %s allows only %s", cgroup, limit.InWords())
		}
	}
	c.Reason = fmt.Sprintf("%s in force: %s", are(got), cmp.Or(why, "the kernel left out "+missing.String()))
	return why != "" || !got.Equal(CPUs(c.Before)) // else it has been set back
}

// explainAffinity separates the causes of EINVAL: a per-CPU kernel thread, CPUs that
// are not there, and the cpuset.
func explainAffinity(m *Machine, c Change, errno syscall.Errno) string {
	if errno != syscall.EINVAL {
		return ""
	}
	want := CPUs(c.After)
	if k, err := m.Look(c.PID, c.TID); err == nil && !k.Movable() {
		return unmovable(k.Comm)
	}
	if online, err := m.Online(); err == nil && want.And(online).Empty() {
		return Absent(want, online)
	}
	if limit, cgroup, err := m.Cpuset(c.PID); err == nil && want.And(limit).Empty() {
		return fmt.Sprintf("its cgroup %s allows only %s, and %s is outside; choose among those, or widen the group's cpuset.cpus",
			cgroup, limit.InWords(), want)
	}
	return fmt.Sprintf("nothing of %s is usable for it: not online, or outside its cpuset", want.InWords())
}

func unmovable(comm string) string {
	if line, ok := irq.ThreadLine(comm); ok {
		return fmt.Sprintf("%s handles interrupt %d and goes where that goes: piton irq move %d", Printable(comm), line, line)
	}
	m, known := kthread.Explain(comm)
	switch {
	case known && m.Bound == kthread.BoundCPU:
		return Printable(comm) + " is a kernel thread that belongs to its CPU; the kernel does not let it move"
	case known && m.Do != "": // unbound workers have the mask of their workqueues
		return Printable(comm) + " is a kernel thread that the kernel does not let move; " + m.Do
	}
	return Printable(comm) + " is a kernel thread that the kernel does not let move"
}

// Absent says that CPUs are not there.
func Absent(cpus, online cpuset.Set) string {
	return fmt.Sprintf("%s not online here (online: %s)", are(cpus), online)
}

// are is the beginning of a sentence about CPUs: "CPU 3 is", "CPUs 0-3 are".
func are(cpus cpuset.Set) string {
	if cpus.Len() == 1 {
		return cpus.InWords() + " is"
	}
	return cpus.InWords() + " are"
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

// Unbound reports whether an affinity is all that the task could have now, and so was
// probably never set. sched_getaffinity(2) leaves out CPUs that are offline or outside
// the cpuset, so what is written back must be more than what was read, or the task
// could not use those later. Kernel threads are left out: the kernel places them, to a
// node for example, or away from the CPUs of nohz_full.
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
// is: it was not set again, but a CPU went offline or the cpuset is another.
func (v *View) CutTo(c Change, left, now Value) bool {
	cut, ok := v.Cut(c, left)
	return ok && c.Attribute.Alike(cut, now)
}

// Cut is what the kernel leaves of an affinity now; ok is false if that is not known, and of
// another attribute.
func (v *View) Cut(c Change, cpus Value) (left Value, ok bool) {
	if c.Attribute != Affinity {
		return nil, false
	}
	usable, ok := v.usable(c.PID)
	return CPUs(cpus).And(usable), ok
}

// FollowsIRQ recognises a handler's thread that the kernel has put on the CPU to
// which its line really goes, one of those that the thread had (kernel/irq/manage.c,
// irq_thread_check_affinity): nothing else changed it. The kernel does so with the
// next interrupt, which may come at any time.
func FollowsIRQ(c Change, had, now Value) bool {
	if _, handler := irq.ThreadLine(c.Comm); !handler || c.Attribute != Affinity {
		return false
	}
	got := CPUs(now)
	return !got.Empty() && got.SubsetOf(CPUs(had))
}
