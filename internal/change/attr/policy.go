package attr

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Policy is the scheduling policy of a thread with the real-time priority and what
// goes with it, a PolicyValue (sched(7)).
const Policy Attribute = "policy"

// PolicyValue is a scheduling policy: "OTHER", "FIFO:10", "RR:1,reset-on-fork",
// "DEADLINE:5ms/10ms/10ms".
type PolicyValue struct {
	Policy      kernel.Policy
	RTPrio      int // 1..99 for FIFO and RR, else 0
	ResetOnFork bool
	// Keep: each task keeps its policy, FIFO or RR, and gets RTPrio; Policy is not
	// looked at. Only a wish has it.
	Keep bool
	// Of DEADLINE: it runs for Runtime of each Period, by Deadline after its start.
	Runtime, Deadline, Period time.Duration
	// Reclaim: a DEADLINE task also runs in the time that others of its kind leave.
	Reclaim bool
}

// policyGrammar is the help text for a policy.
const policyGrammar = "other, batch, idle, ext, fifo:PRIO or rr:PRIO with PRIO 1 (lowest) to 99, " +
	"deadline:RUNTIME/DEADLINE/PERIOD such as deadline:5ms/10ms/10ms, or a bare PRIO, which keeps fifo or rr"

var policy = spec{
	parse: parsePolicy,
	read:  reading(kernel.Scheduler.Attr, func(a kernel.SchedAttr) Value { return policyOf(a) }),
	write: func(w Write) error {
		p := w.Change.After.(PolicyValue)
		if p.Policy == kernel.Deadline {
			return w.Task.SetAttr(p.attr())
		}
		return w.Task.SetPolicy(p.Policy, p.RTPrio, p.ResetOnFork)
	},
	causes: map[syscall.Errno]string{
		syscall.EBUSY: "the CPUs have no DEADLINE bandwidth left for it (sched_rt_runtime_us and other DEADLINE tasks bound it)",
	},
	prepare: preparePolicy, explain: explainPolicy, privileged: policyRight, risk: riskPolicy,
	absent: func(m *Machine, c Change, errno syscall.Errno) string {
		if PolicyOf(c.After).Policy != kernel.Ext {
			return ""
		}
		return lacking("sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12)", syscall.EINVAL)(m, c, errno)
	},
	setBy: []string{"tuned", "ananicy", "CPUSchedulingPolicy", "CPUSchedulingPriority", "CPUSchedulingResetOnFork"},
	command: &Command{
		Flag: "policy", Usage: "`POLICY`[:PRIO]: other, batch, idle, ext, fifo, rr, deadline:RUNTIME/DEADLINE/PERIOD",
		Verb: "policy", Use: "policy TARGET… POLICY[:PRIO]", What: "a policy",
		Words: []string{"other", "batch", "idle", "ext", "fifo:", "rr:", "deadline:"}, Short: "set the scheduling policy and real-time priority",
		Long: `Set the scheduling policy: other, batch, idle, fifo:PRIO or rr:PRIO with PRIO 1 (lowest) to 99, ext, or
deadline:RUNTIME/DEADLINE/PERIOD: RUNTIME of CPU time in each PERIOD, by DEADLINE after its start.
A bare PRIO keeps fifo or rr. With ,reset-on-fork children start with an ordinary policy.
With ,reclaim a deadline task also runs in the time that other deadline tasks leave.
fifo and rr on a task that is busy all the time need --yes.`,
		Example: "  piton policy 3641 fifo:10\n  piton policy 3641 20\n  piton policy thread:/^worker/ batch\n  piton policy 3641 deadline:5ms/10ms/10ms,reset-on-fork",
	},
}

// SetPolicy asks for a policy.
func SetPolicy(p PolicyValue) Setting { return Setting{Policy, p} }

// PolicyOf is the policy of a value that is one, else OTHER.
func PolicyOf(v Value) PolicyValue {
	p, _ := v.(PolicyValue)
	return p
}

func policyOf(a kernel.SchedAttr) PolicyValue {
	p := PolicyValue{Policy: a.Policy, RTPrio: a.RTPrio, ResetOnFork: a.ResetOnFork}
	if a.Policy == kernel.Deadline { // of others the runtime is the slice
		p.Runtime, p.Deadline, p.Period = time.Duration(a.RuntimeNs), time.Duration(a.DeadlineNs), time.Duration(a.PeriodNs)
		p.Reclaim = a.Reclaim
	}
	return p
}

func (p PolicyValue) attr() kernel.SchedAttr {
	return kernel.SchedAttr{
		Policy: p.Policy, RTPrio: p.RTPrio, ResetOnFork: p.ResetOnFork,
		RuntimeNs: uint64(p.Runtime), DeadlineNs: uint64(p.Deadline), PeriodNs: uint64(p.Period), Reclaim: p.Reclaim,
	}
}

// The words that may follow a policy: SCHED_FLAG_RESET_ON_FORK and, of DEADLINE,
// SCHED_FLAG_RECLAIM of sched_setattr(2).
const (
	resetWord   = "reset-on-fork"
	reclaimWord = "reclaim"
)

func (p PolicyValue) String() string {
	text := p.Policy.String()
	switch {
	case p.Keep:
		text = strconv.Itoa(p.RTPrio)
	case p.Policy == kernel.FIFO || p.Policy == kernel.RR:
		text += ":" + strconv.Itoa(p.RTPrio)
	case p.Policy == kernel.Deadline:
		text += fmt.Sprintf(":%v/%v/%v", p.Runtime, p.Deadline, p.Period)
	}
	if p.ResetOnFork {
		text += "," + resetWord
	}
	if p.Reclaim {
		text += "," + reclaimWord
	}
	return text
}

// Crowds reports whether a task of the policy may take its CPU all but for itself.
func (p PolicyValue) Crowds() bool {
	if p.Policy == kernel.Deadline {
		return p.Reclaim || float64(p.Runtime) >= 0.9*float64(p.Period)
	}
	return p.Policy.RealTime()
}

var policies = map[string]kernel.Policy{
	"OTHER": kernel.Other, "NORMAL": kernel.Other, "BATCH": kernel.Batch, "IDLE": kernel.Idle,
	"FIFO": kernel.FIFO, "RR": kernel.RR, "DEADLINE": kernel.Deadline, "EXT": kernel.Ext,
}

// parsePolicy reads "fifo:10", "rr", "other", "SCHED_BATCH", "fifo:10,reset-on-fork",
// "deadline:5ms/10ms/10ms,reclaim", and "10", which keeps FIFO or RR. A bare fifo or rr
// means priority 1, the lowest, as in tuna and chrt's habit.
func parsePolicy(text string) (Value, error) {
	refuse := func(format string, args ...any) (Value, error) {
		return nil, Usagef("policy %q: %s", text, fmt.Sprintf(format, args...))
	}
	words := strings.Split(strings.TrimSpace(text), ",")
	name, param, hasParam := strings.Cut(words[0], ":")
	policy, ok := policies[strings.TrimPrefix(strings.ToUpper(name), "SCHED_")]
	p := PolicyValue{Policy: policy}
	ranked := policy == kernel.FIFO || policy == kernel.RR
	prio := "1"
	switch _, noNumber := strconv.Atoi(words[0]); {
	case noNumber == nil:
		p.Keep, ranked, prio = true, true, words[0]
	case !ok:
		return refuse("no such policy; there are %s", policyGrammar)
	case policy == kernel.Deadline:
		if err := p.parseTimes(param); err != nil {
			return refuse("%v", err)
		}
	case hasParam && !ranked:
		return refuse("only fifo and rr take a priority")
	case hasParam:
		prio = param
	}
	if ranked {
		n, err := strconv.ParseUint(prio, 10, 7) // without a sign
		if p.RTPrio = int(n); err != nil || n < 1 || n > 99 {
			return refuse("the real-time priority must be 1 (lowest) to 99 (highest)")
		}
	}
	for _, word := range words[1:] {
		switch {
		case strings.EqualFold(word, resetWord):
			p.ResetOnFork = true
		case !strings.EqualFold(word, reclaimWord):
			return refuse("%q is not %q", word, resetWord)
		case policy != kernel.Deadline:
			return refuse("only deadline takes %s", reclaimWord)
		default:
			p.Reclaim = true
		}
	}
	return p, nil
}

// shortestRuntime is what the kernel counts DEADLINE time in (DL_SCALE in
// kernel/sched/sched.h).
const shortestRuntime = 1024 * time.Nanosecond

// parseTimes reads the times of DEADLINE, "5ms/10ms/10ms", and refuses what no kernel takes.
func (p *PolicyValue) parseTimes(text string) error {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return errors.New("deadline takes runtime/deadline/period, such as 5ms/10ms/10ms")
	}
	for i, field := range []*time.Duration{&p.Runtime, &p.Deadline, &p.Period} {
		var err error
		if *field, err = time.ParseDuration(parts[i]); err != nil {
			return fmt.Errorf("%q is not a time such as 5ms", parts[i])
		}
	}
	switch {
	case p.Runtime < shortestRuntime:
		return fmt.Errorf("the runtime %v is below %v, the shortest", p.Runtime, shortestRuntime)
	case p.Runtime > p.Deadline:
		return fmt.Errorf("the runtime %v does not fit before the deadline %v", p.Runtime, p.Deadline)
	case p.Deadline > p.Period:
		return fmt.Errorf("the deadline %v is after the end of the period %v", p.Deadline, p.Period)
	}
	return nil
}

// preparePolicy works out what a bare priority means for the task.
func preparePolicy(_ *View, _ Task, c *Change) {
	want, was := PolicyOf(c.After), PolicyOf(c.Before)
	if !want.Keep {
		return
	}
	if was.Policy != kernel.FIFO && was.Policy != kernel.RR {
		c.Refuse("its policy is %s, which has no real-time priority: say fifo:%d or rr:%d", was.Policy, want.RTPrio, want.RTPrio)
		return
	}
	was.RTPrio = want.RTPrio
	was.ResetOnFork = was.ResetOnFork || want.ResetOnFork
	c.After = was
}

func explainPolicy(m *Machine, c Change, errno syscall.Errno) string {
	want := PolicyOf(c.After)
	held := isPermission(errno) && m.Has(kernel.CapSysNice)
	switch {
	case errno == syscall.EINVAL:
		low, lowErr := m.Proc.Sysctl("kernel/sched_deadline_period_min_us")
		high, highErr := m.Proc.Sysctl("kernel/sched_deadline_period_max_us")
		if want.Policy == kernel.Deadline && lowErr == nil && highErr == nil {
			return fmt.Sprintf("the kernel does not accept %s: its period must be %d to %d µs (kernel.sched_deadline_period_min_us and _max_us)",
				want, low, high)
		}
		return fmt.Sprintf("this kernel does not know policy %s or is built without it", want)
	case held && want.Policy == kernel.Deadline:
		return explainDeadline(m, c)
	case held && want.Policy.RealTime():
		why, _ := m.WhyNoRealTime(c.PID)
		return why
	}
	return ""
}

// policyRight is user_check_sched_setscheduler of kernel/sched/syscalls.c.
func policyRight(m *Machine, c Change) (what, limit string, least uint64) {
	want, was := PolicyOf(c.After), PolicyOf(c.Before)
	switch {
	case was.ResetOnFork && !want.ResetOnFork:
		return "dropping reset-on-fork", "", 0
	case want.Policy == kernel.Deadline: // no limit allows it (sched_setattr(2))
		return want.String(), "", 0
	case want.RTPrio > was.RTPrio:
		return "real-time policy " + want.String(), limitRTPrio, uint64(want.RTPrio)
	case want.Policy.RealTime() && want.Policy != was.Policy:
		return "real-time policy " + want.String(), limitRTPrio, 1
	case was.Policy == kernel.Idle && want.Policy != kernel.Idle:
		n, _ := m.Sched.Nice(c.TID) // it comes back with that
		return "leaving SCHED_IDLE", limitNice, niceLimit(NiceValue(n))
	}
	return "", "", 0
}

// explainDeadline is for EPERM although CAP_SYS_NICE is held: a DEADLINE task must
// be free to run on every CPU of its root domain, and the domain must have a
// real-time budget (Documentation/scheduler/sched-deadline.rst, section 5).
func explainDeadline(m *Machine, c Change) string {
	if us, err := m.Proc.Sysctl("kernel/sched_rt_runtime_us"); err == nil && us == 0 {
		return "the machine gives real-time tasks no time: kernel.sched_rt_runtime_us is 0"
	}
	online, err := m.Online()
	mine, maskErr := m.Sched.Affinity(c.TID)
	if err == nil && maskErr == nil && !online.SubsetOf(mine) {
		return fmt.Sprintf("it is pinned to %s, and a DEADLINE task must be free to run on every CPU of its root domain; "+
			"widen its affinity first (online: %s), or make a domain of those CPUs by a cpuset partition", mine.InWords(), online)
	}
	return "DEADLINE needs a task that may run on every CPU of its root domain; widen its affinity first"
}

// WhyNoRealTime says why the kernel refused FIFO and RR to a process although
// the caller holds CAP_SYS_NICE, and the command that gives its cgroup a budget
// if there is one: version 1 of a kernel with CONFIG_RT_GROUP_SCHED has it
// (Documentation/scheduler/sched-rt-group.rst). why is "" if its cgroup is no reason.
func (m *Machine) WhyNoRealTime(pid kernel.TID) (why, command string) {
	const budget = "cpu.rt_runtime_us"
	g, err := m.Cgroup(pid, "cpu")
	if err != nil {
		return "", ""
	}
	if us, err := g.Number(g.Path, budget); err == nil && us == 0 {
		for path := g.Path; path != "/" && command == "" && err == nil; path = filepath.Dir(path) {
			var most int
			if most, err = g.Number(filepath.Dir(path), budget); most != 0 { // a group may have as much as its parent
				command = fmt.Sprintf("echo %d | sudo tee %s", most, g.File(path, budget))
			}
		}
		return fmt.Sprintf("its cpu cgroup has no real-time budget: %s is 0; write some there (its parents must have as much), "+
			"or move the process to a group that has some", g.File(g.Path, budget)), command
	}
	if g.Unified && g.Path != "/" {
		return fmt.Sprintf("its cgroup %s may not run real-time tasks: a kernel with CONFIG_RT_GROUP_SCHED allows them in the root cgroup only; "+
			"move the process there, or boot with rt_group_sched=0", g.Path), ""
	}
	return "", ""
}

func riskPolicy(v *View, c Change) {
	want := PolicyOf(c.After)
	switch want.Policy {
	case kernel.Deadline:
		if !want.ResetOnFork {
			v.Warn(Note, "%d (%s) cannot create threads or processes while it is DEADLINE (they fail with EAGAIN); add ,%s to let it create ordinary ones",
				c.TID, Printable(c.Comm), resetWord)
		}
	case kernel.Ext: // Documentation/scheduler/sched-ext.rst
		state, err := procfs.ReadFile(filepath.Join(v.Proc.Root(), "sys/kernel/sched_ext/state"))
		if err == nil && string(state) != "enabled\n" {
			v.Warn(Note, "no sched_ext scheduler is loaded: until one is, EXT tasks are run as OTHER ones")
		}
	}
}
