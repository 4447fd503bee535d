package tune

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// These end every sentence about a missing CAP_SYS_NICE.
const (
	howToGetRights = "run piton with sudo, or give it the right once: setcap cap_sys_nice+ep on the piton binary"
	howAsRoot      = "this root lacks it, as in a container: start the container with --cap-add SYS_NICE"
)

func (t *Tuner) remedy() string {
	if t.o.EUID() == 0 {
		return howAsRoot
	}
	return howToGetRights
}

// explain says in the user's words why the kernel refused a change: what is
// the cause here, and what to do. This is the only place that reads errnos.
func (t *Tuner) explain(c Change, err error) string {
	if c.file() {
		return t.explainFile(c, err)
	}
	if why := t.absence(c, err); why != "" {
		return why
	}
	switch {
	case errors.Is(err, syscall.ESRCH) || errors.Is(err, ErrGone):
		return fmt.Sprintf("%d has ended", c.TID)
	case errors.Is(err, syscall.ENOSYS):
		return "this kernel or container does not offer the call"
	case errors.Is(err, syscall.EBUSY) && c.Attribute == Affinity:
		return "it is a DEADLINE task, and those cannot be moved; give it another policy first"
	case errors.Is(err, syscall.EBUSY):
		return "the CPUs have no DEADLINE bandwidth left for it (sched_rt_runtime_us and other DEADLINE tasks bound it)"
	case errors.Is(err, syscall.EINVAL):
		return t.explainInvalid(c, err)
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return t.explainRights(c)
	}
	return err.Error()
}

func (t *Tuner) explainInvalid(c Change, err error) string {
	switch c.Attribute {
	case Affinity:
		return t.explainAffinity(c)
	case Policy:
		return t.explainPolicy(c)
	case Memory:
		return "its cpuset allows no memory on " + nodeText(nodesOf(c.After)) + ": widen the group's cpuset.mems"
	}
	return fmt.Sprintf("the kernel does not accept %s: %v", describe(c.Attribute, c.After), err)
}

// explainAffinity tells the three causes of EINVAL apart: a per-CPU kernel
// thread, CPUs that are not there, and the cpuset.
func (t *Tuner) explainAffinity(c Change) string {
	want, _ := cpuset.Parse(c.After)
	if k, err := t.look(c.PID, c.TID); err == nil && k.flags&flagNoSetAffinity != 0 {
		return unmovable(k.comm)
	}
	online, err := t.online()
	if err == nil && want.And(online).Empty() {
		return absent(want, online)
	}
	limit, cgroup, err := t.Cpuset(c.PID)
	if err == nil && want.And(limit).Empty() {
		return fmt.Sprintf("its cgroup %s allows only %s, and %s is outside; choose among those, or widen the group's cpuset.cpus",
			cgroup, limit.InWords(), want)
	}
	return fmt.Sprintf("nothing of %s is usable for it: not online, or outside its cpuset", want.InWords())
}

func unmovable(comm string) string {
	if line, ok := irq.ThreadLine(comm); ok {
		return fmt.Sprintf("%s handles interrupt %d and goes where that goes: piton irq move %d", printable(comm), line, line)
	}
	return printable(comm) + " is a kernel thread that belongs to its CPU; the kernel does not let it move"
}

// absent says that CPUs are not there.
func absent(cpus, online cpuset.Set) string {
	return fmt.Sprintf("%s %s not online here (online: %s)", cpus.InWords(), isAre(cpus.Len()), online)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// explainRights tells what right is missing, from what kind of change it was.
func (t *Tuner) explainRights(c Change) string {
	if t.rights().Has(kernel.CapSysNice) {
		return t.explainDespiteRights(c)
	}
	if owner, ok := t.othersTask(c.PID); ok {
		return fmt.Sprintf("%d belongs to %s; changing others' processes needs CAP_SYS_NICE: %s", c.PID, owner, t.remedy())
	}
	limits, err := t.o.Limits(c.TID)
	switch c.Attribute {
	case Memory, Cookie:
		return fmt.Sprintf("the %s of %d needs CAP_SYS_PTRACE: run piton with sudo", c.Attribute, c.PID)
	case Nice:
		return fmt.Sprintf("lowering nice from %s to %s needs CAP_SYS_NICE%s: %s", c.Before, c.After,
			orLimit(err, "RLIMIT_NICE", niceLimit(c.After), limits.Nice, "nice"), t.remedy())
	case IOPrio:
		return fmt.Sprintf("I/O priority %s needs CAP_SYS_NICE: %s", c.After, t.remedy())
	case Policy:
		return t.explainPolicyRights(c, limits, err)
	}
	return fmt.Sprintf("%s needs CAP_SYS_NICE: %s", describe(c.Attribute, c.After), t.remedy())
}

func (t *Tuner) explainPolicyRights(c Change, limits kernel.Limits, err error) string {
	was, _ := parsePolicy(c.Before)
	want, _ := parsePolicy(c.After)
	switch {
	case was.ResetOnFork && !want.ResetOnFork:
		return "taking reset-on-fork back needs CAP_SYS_NICE: " + t.remedy()
	case want.Policy == kernel.Deadline: // no limit allows it (sched_setattr(2))
		return fmt.Sprintf("%s needs CAP_SYS_NICE: %s", c.After, t.remedy())
	case want.Policy.RealTime():
		return fmt.Sprintf("real-time policy %s needs CAP_SYS_NICE%s: %s", c.After,
			orLimit(err, "RLIMIT_RTPRIO", uint64(want.RTPrio), limits.RTPrio, "rtprio"), t.remedy())
	case was.Policy == kernel.Idle:
		return fmt.Sprintf("leaving SCHED_IDLE needs CAP_SYS_NICE%s: %s",
			orLimit(err, "RLIMIT_NICE", 20, limits.Nice, "nice"), t.remedy())
	}
	return fmt.Sprintf("policy %s needs CAP_SYS_NICE: %s", c.After, t.remedy())
}

// orLimit names the resource limit that would do instead, when it is known.
func orLimit(err error, name string, needed, have uint64, item string) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (or a %s of at least %d, it is %d; %q in /etc/security/limits.conf)", name, needed, have, item)
}

// niceLimit is the RLIMIT_NICE that allows a nice value: 20 less the value
// (getrlimit(2)).
func niceLimit(value string) uint64 {
	nice, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return uint64(20 - nice)
}

// explainDespiteRights is for EPERM although CAP_SYS_NICE is held.
func (t *Tuner) explainDespiteRights(c Change) string {
	want := policyOf(c.After)
	if c.Attribute == IOPrio {
		return "the kernel refused although CAP_SYS_NICE is held; before Linux 5.14 real-time I/O priority needs CAP_SYS_ADMIN"
	}
	switch {
	case c.Attribute == Policy && want == kernel.Deadline:
		return t.explainDeadline(c)
	case (c.Attribute == Memory || c.Attribute == Cookie) && !t.rights().Has(kernel.CapSysPtrace):
		return fmt.Sprintf("the %s of others' processes needs CAP_SYS_PTRACE as well", c.Attribute)
	}
	if c.Attribute == Policy && want.RealTime() {
		if why, _ := t.WhyNoRealTime(c.PID); why != "" {
			return why
		}
	}
	return "CAP_SYS_NICE is held, yet the kernel refused: the process is outside this container's user namespace, " +
		"or a security module (SELinux, AppArmor, seccomp) forbids it"
}

// WhyNoRealTime says why the kernel refuses FIFO and RR to a process although
// the caller holds CAP_SYS_NICE, and the file that a budget has to be written to
// if there is one. why is "" if its cgroup is no reason.
func (t *Tuner) WhyNoRealTime(pid kernel.TID) (why, file string) {
	if us, file, err := t.rtRuntime(pid); err == nil && us == 0 {
		return fmt.Sprintf("its cpu cgroup has no real-time budget: %s is 0; write some there (its parents must have as much), "+
			"or move the process to a group that has some", file), file
	}
	if g, err := t.cgroup(pid, "cpu"); err == nil && g.unified && g.path != "/" {
		return fmt.Sprintf("its cgroup %s may not run real-time tasks: a kernel with CONFIG_RT_GROUP_SCHED allows them in the root cgroup only; "+
			"move the process there, or boot with rt_group_sched=0", g.path), ""
	}
	return "", ""
}

// othersTask returns the name of the user of a process that is not the caller's own.
func (t *Tuner) othersTask(pid kernel.TID) (string, bool) {
	st, err := t.o.Proc.Status(pid)
	if err != nil {
		return "", false
	}
	if me := uint32(t.o.EUID()); st.UID == me || st.EUID == me {
		return "", false
	}
	id := strconv.FormatUint(uint64(st.UID), 10)
	if owner, err := user.LookupId(id); err == nil {
		return owner.Username, true
	}
	return id, true
}

// markedError is an error of the kernel that also Is what it means to piton.
type markedError struct{ error, mark error }

func (e markedError) Error() string   { return e.error.Error() }
func (e markedError) Unwrap() []error { return []error{e.error, e.mark} }

// mark makes err Is ErrNotPermitted when more rights would help, and ErrGone
// when the task has ended.
func (t *Tuner) mark(err error) error {
	switch {
	case errors.Is(err, syscall.ESRCH):
		return markedError{err, ErrGone}
	case errors.Is(err, ErrNotSupported):
		return err
	case (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)) && !t.rights().Has(kernel.CapSysNice):
		return markedError{err, ErrNotPermitted}
	}
	return err
}
