package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// absence says that the kernel is built without what was asked for; "" when err
// is about something else.
func (t *Tuner) absence(c Change, err error) string {
	switch c.Attribute {
	case Clamp:
		if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL) {
			return "this kernel is built without utilisation clamps (CONFIG_UCLAMP_TASK)"
		}
	case Cookie:
		switch {
		case errors.Is(err, syscall.EINVAL):
			return "this kernel is built without core scheduling (CONFIG_SCHED_CORE)"
		case errors.Is(err, syscall.ENODEV):
			return "core scheduling is for machines with SMT, and this one has none or has it switched off"
		}
	case Memory:
		if errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOENT) && !errors.Is(err, ErrGone) {
			return "this kernel is built without NUMA (CONFIG_NUMA): there is one memory for all CPUs"
		}
	case Policy:
		if policyOf(c.After) == kernel.Ext && errors.Is(err, syscall.EINVAL) {
			return "this kernel is built without sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)"
		}
	}
	return ""
}

// markTask is mark, and makes err Is ErrNotSupported for what the kernel lacks.
func (t *Tuner) markTask(c Change, err error) error {
	if err != nil && t.absence(c, err) != "" {
		return markedError{err, ErrNotSupported}
	}
	return t.mark(err)
}

// explainPolicy is for EINVAL.
func (t *Tuner) explainPolicy(c Change) string {
	low, lowErr := t.o.Proc.Sysctl("kernel/sched_deadline_period_min_us")
	high, err := t.o.Proc.Sysctl("kernel/sched_deadline_period_max_us")
	if policyOf(c.After) == kernel.Deadline && lowErr == nil && err == nil {
		return fmt.Sprintf("the kernel does not accept %s: its period must be %d to %d µs (kernel.sched_deadline_period_min_us and _max_us)",
			c.After, low, high)
	}
	return fmt.Sprintf("this kernel does not know policy %s or is built without it", c.After)
}

// explainDeadline is for EPERM although CAP_SYS_NICE is held: a DEADLINE task must
// be free to run on every CPU of its root domain, and the domain must have a
// real-time budget (Documentation/scheduler/sched-deadline.rst, section 5).
func (t *Tuner) explainDeadline(c Change) string {
	if us, err := t.o.Proc.Sysctl("kernel/sched_rt_runtime_us"); err == nil && us == 0 {
		return "the machine gives real-time tasks no time: kernel.sched_rt_runtime_us is 0"
	}
	online, err := t.online()
	mine, maskErr := t.o.Sched.Affinity(c.TID)
	if err == nil && maskErr == nil && !online.SubsetOf(mine) {
		return fmt.Sprintf("it is pinned to %s, and a DEADLINE task must be free to run on every CPU of its root domain; "+
			"widen its affinity first (online: %s), or make a domain of those CPUs by a cpuset partition", mine.InWords(), online)
	}
	return "DEADLINE needs a task that may run on every CPU of its root domain; widen its affinity first"
}

// cautionDeadline warns of what becomes of a DEADLINE task that makes threads.
func (p *planner) cautionDeadline(c Change) {
	if after, err := parsePolicy(c.After); err == nil && !after.ResetOnFork {
		p.warn("%d (%s) cannot create threads or processes while it is DEADLINE (they fail with EAGAIN); add ,%s to let it create ordinary ones",
			c.TID, printable(c.Comm), resetWord)
	}
}

// cautionExt says that nobody schedules EXT tasks (Documentation/scheduler/sched-ext.rst).
func (p *planner) cautionExt() {
	state, err := os.ReadFile(filepath.Join(p.t.o.Proc.Root(), "sys/kernel/sched_ext/state"))
	if err == nil && string(state) != "enabled\n" {
		p.warn("no sched_ext scheduler is loaded: until one is, EXT tasks are run as OTHER ones")
	}
}

// crowds reports whether a task of the policy may take its CPU all but for itself.
func crowds(value string) bool {
	attr, err := parsePolicy(value)
	if err != nil || !attr.Policy.RealTime() {
		return false
	}
	return attr.Policy != kernel.Deadline || attr.Reclaim || float64(attr.RuntimeNs) >= 0.9*float64(attr.PeriodNs)
}

// cautionMemory says that new pages may still come from elsewhere.
func (p *planner) cautionMemory(c Change) {
	all, err := p.t.numaMaps(c.PID)
	if err != nil {
		return
	}
	for _, m := range all {
		if mode, nodes, ok := boundTo(m.Policy); ok && !nodes.SubsetOf(nodesOf(c.After)) {
			p.warn("%d has a memory policy of its own (%s %s): what it allocates later goes there, only its pages of now move", c.PID, mode, nodes)
			return
		}
	}
}

// boundTo reads the policy of a mapping, "bind:0", "interleave:0-1", "prefer=static:0".
func boundTo(policy string) (mode string, nodes cpuset.Set, ok bool) {
	mode, list, ok := strings.Cut(policy, ":")
	if ok {
		var err error
		nodes, err = cpuset.Parse(list)
		ok = err == nil
	}
	return mode, nodes, ok
}
