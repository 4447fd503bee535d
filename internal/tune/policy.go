package tune

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"piton/internal/kernel"
)

// PolicyGrammar is the help text for a policy.
const PolicyGrammar = "other, batch, idle, ext, fifo:PRIO or rr:PRIO with PRIO 1 (lowest) to 99, " +
	"deadline:RUNTIME/DEADLINE/PERIOD such as deadline:5ms/10ms/10ms, or a bare PRIO, which keeps fifo or rr"

// The words that may follow a policy: SCHED_FLAG_RESET_ON_FORK and, of DEADLINE,
// SCHED_FLAG_RECLAIM of sched_setattr(2).
const (
	resetWord   = "reset-on-fork"
	reclaimWord = "reclaim"
)

// String is the setting as the POL column, the flags and JSON have it: "OTHER",
// "FIFO:10", "RR:1,reset-on-fork", "DEADLINE:5ms/10ms/10ms"; "10" keeps the policy.
func (p PolicySetting) String() string {
	if p.Keep {
		return strconv.Itoa(p.RTPrio) + suffix(kernel.SchedAttr{ResetOnFork: p.ResetOnFork})
	}
	return formatPolicy(p.attr())
}

func (p PolicySetting) attr() kernel.SchedAttr {
	return kernel.SchedAttr{
		Policy: p.Policy, RTPrio: p.RTPrio, ResetOnFork: p.ResetOnFork,
		RuntimeNs: uint64(p.Runtime), DeadlineNs: uint64(p.Deadline), PeriodNs: uint64(p.Period),
		Reclaim: p.Reclaim,
	}
}

// suffix is what parseSuffix reads.
func suffix(a kernel.SchedAttr) (text string) {
	if a.ResetOnFork {
		text += "," + resetWord
	}
	if a.Reclaim {
		text += "," + reclaimWord
	}
	return text
}

// parseSuffix reads the words after a policy, which are separated by commas.
func parseSuffix(text, words string, attr *kernel.SchedAttr) error {
	for word := range strings.SplitSeq(words, ",") {
		switch {
		case strings.EqualFold(word, resetWord):
			attr.ResetOnFork = true
		case strings.EqualFold(word, reclaimWord) && attr.Policy == kernel.Deadline:
			attr.Reclaim = true
		case strings.EqualFold(word, reclaimWord):
			return usagef("policy %q: only deadline takes %s", text, reclaimWord)
		default:
			return usagef("policy %q: %q is not %q", text, word, resetWord)
		}
	}
	return nil
}

func formatPolicy(a kernel.SchedAttr) string {
	text := a.Policy.String()
	switch a.Policy {
	case kernel.FIFO, kernel.RR:
		text += ":" + strconv.Itoa(a.RTPrio)
	case kernel.Deadline:
		text += fmt.Sprintf(":%v/%v/%v", time.Duration(a.RuntimeNs), time.Duration(a.DeadlineNs), time.Duration(a.PeriodNs))
	}
	return text + suffix(a)
}

var policies = map[string]kernel.Policy{
	"OTHER": kernel.Other, "NORMAL": kernel.Other, "BATCH": kernel.Batch, "IDLE": kernel.Idle,
	"FIFO": kernel.FIFO, "RR": kernel.RR, "DEADLINE": kernel.Deadline, "EXT": kernel.Ext,
}

// parsePolicy reads what formatPolicy writes.
func parsePolicy(text string) (kernel.SchedAttr, error) {
	spec, words, more := strings.Cut(text, ",")
	name, param, hasParam := strings.Cut(spec, ":")
	policy, ok := policies[strings.TrimPrefix(strings.ToUpper(name), "SCHED_")]
	if !ok {
		return kernel.SchedAttr{}, usagef("policy %q: no such policy; there are %s", text, PolicyGrammar)
	}
	attr := kernel.SchedAttr{Policy: policy}
	if more {
		if err := parseSuffix(text, words, &attr); err != nil {
			return kernel.SchedAttr{}, err
		}
	}
	switch {
	case policy == kernel.Deadline:
		err := parseDeadline(text, param, &attr)
		return attr, err
	case policy == kernel.FIFO || policy == kernel.RR:
		attr.RTPrio = 1 // a bare policy means the lowest, as in tuna and chrt's habit
		if hasParam {
			n, err := strconv.Atoi(param)
			if err != nil || n < 1 || n > 99 {
				return kernel.SchedAttr{}, usagef("policy %q: the real-time priority must be 1 (lowest) to 99 (highest)", text)
			}
			attr.RTPrio = n
		}
	case hasParam:
		return kernel.SchedAttr{}, usagef("policy %q: only fifo and rr take a priority", text)
	}
	return attr, nil
}

func parseDeadline(text, param string, attr *kernel.SchedAttr) error {
	parts := strings.Split(param, "/")
	if len(parts) != 3 {
		return usagef("policy %q: deadline takes runtime/deadline/period, such as 5ms/10ms/10ms", text)
	}
	for i, field := range []*uint64{&attr.RuntimeNs, &attr.DeadlineNs, &attr.PeriodNs} {
		d, err := time.ParseDuration(parts[i])
		if err != nil || d < 0 {
			return usagef("policy %q: %q is not a time such as 5ms", text, parts[i])
		}
		*field = uint64(d)
	}
	return nil
}

// ParsePolicy reads a policy as people type it: "fifo:10", "rr", "other",
// "SCHED_BATCH", "fifo:10,reset-on-fork", "deadline:5ms/10ms/10ms,reclaim", and "10",
// which keeps FIFO or RR. A bare fifo or rr means priority 1. Errors are
// UsageErrors.
func ParsePolicy(text string) (PolicySetting, error) {
	text = strings.TrimSpace(text)
	number, words, more := strings.Cut(text, ",")
	if n, err := strconv.Atoi(number); err == nil {
		var flags kernel.SchedAttr
		if more {
			if err := parseSuffix(text, words, &flags); err != nil {
				return PolicySetting{}, err
			}
		}
		p := PolicySetting{Keep: true, RTPrio: n, ResetOnFork: flags.ResetOnFork}
		return p, p.validate()
	}
	attr, err := parsePolicy(text)
	if err != nil {
		return PolicySetting{}, err
	}
	p := PolicySetting{
		Policy: attr.Policy, RTPrio: attr.RTPrio, ResetOnFork: attr.ResetOnFork,
		Runtime: time.Duration(attr.RuntimeNs), Deadline: time.Duration(attr.DeadlineNs), Period: time.Duration(attr.PeriodNs),
		Reclaim: attr.Reclaim,
	}
	return p, p.validate()
}

func (p PolicySetting) validate() error {
	switch {
	case p.Keep, p.Policy == kernel.FIFO, p.Policy == kernel.RR:
		if p.RTPrio < 1 || p.RTPrio > 99 {
			return usagef("real-time priority %d: it must be 1 (lowest) to 99 (highest)", p.RTPrio)
		}
	case p.RTPrio != 0:
		return usagef("real-time priority %d with policy %s: only fifo and rr have one", p.RTPrio, p.Policy)
	case p.Policy == kernel.Deadline:
		return p.validateDeadline()
	}
	return nil
}

// shortestRuntime is what the kernel counts DEADLINE time in (DL_SCALE in
// kernel/sched/sched.h).
const shortestRuntime = 1024 * time.Nanosecond

func (p PolicySetting) validateDeadline() error {
	switch {
	case p.Runtime < shortestRuntime:
		return usagef("policy deadline: the runtime %v is below %v, the shortest", p.Runtime, shortestRuntime)
	case p.Runtime > p.Deadline:
		return usagef("policy deadline: the runtime %v does not fit before the deadline %v", p.Runtime, p.Deadline)
	case p.Deadline > p.Period:
		return usagef("policy deadline: the deadline %v is after the end of the period %v", p.Deadline, p.Period)
	}
	return nil
}

// policy works out what a bare priority means for the task, and refuses the policy
// that the kernel does not have.
func (p *planner) policy(_ task, c *Change) {
	number, reset, _ := strings.Cut(c.After, ",")
	prio, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	was, _ := parsePolicy(c.Before)
	if was.Policy != kernel.FIFO && was.Policy != kernel.RR {
		refuse(c, "its policy is %s, which has no real-time priority: say fifo:%d or rr:%d", was.Policy, prio, prio)
		return
	}
	was.RTPrio = prio
	was.ResetOnFork = was.ResetOnFork || reset != ""
	c.After = formatPolicy(was)
}
