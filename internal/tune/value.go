package tune

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"piton/internal/kernel"
)

// UsageError is a request that could never be carried out, whatever the
// system's state: a value out of range, a word that is none.
type UsageError string

func (e UsageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// String is the setting as the POL column, the flags and JSON have it:
// "OTHER", "FIFO:10", "RR:1,reset-on-fork".
func (p PolicySetting) String() string {
	return formatPolicy(kernel.SchedAttr{Policy: p.Policy, RTPrio: p.RTPrio, ResetOnFork: p.ResetOnFork})
}

const resetWord = "reset-on-fork"

// formatPolicy also writes what cannot be asked for, "DEADLINE:1ms/20ms/20ms"
// (runtime, deadline, period), so that it can be restored.
func formatPolicy(a kernel.SchedAttr) string {
	text := a.Policy.String()
	switch a.Policy {
	case kernel.FIFO, kernel.RR:
		text += ":" + strconv.Itoa(a.RTPrio)
	case kernel.Deadline:
		text += fmt.Sprintf(":%v/%v/%v", time.Duration(a.RuntimeNs), time.Duration(a.DeadlineNs), time.Duration(a.PeriodNs))
	}
	if a.ResetOnFork {
		text += "," + resetWord
	}
	return text
}

var policies = map[string]kernel.Policy{
	"OTHER": kernel.Other, "NORMAL": kernel.Other, "BATCH": kernel.Batch, "IDLE": kernel.Idle,
	"FIFO": kernel.FIFO, "RR": kernel.RR, "DEADLINE": kernel.Deadline, "EXT": kernel.Ext,
}

// parsePolicy reads what formatPolicy writes.
func parsePolicy(text string) (kernel.SchedAttr, error) {
	spec, reset, hasReset := strings.Cut(text, ",")
	if hasReset && !strings.EqualFold(reset, resetWord) {
		return kernel.SchedAttr{}, usagef("policy %q: %q is not %q", text, reset, resetWord)
	}
	name, param, hasParam := strings.Cut(spec, ":")
	policy, ok := policies[strings.TrimPrefix(strings.ToUpper(name), "SCHED_")]
	if !ok {
		return kernel.SchedAttr{}, usagef("policy %q: no such policy; there are other, batch, idle, fifo and rr", text)
	}
	attr := kernel.SchedAttr{Policy: policy, ResetOnFork: hasReset}
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
		return usagef("policy %q: deadline takes runtime/deadline/period, such as 1ms/20ms/20ms", text)
	}
	for i, field := range []*uint64{&attr.RuntimeNs, &attr.DeadlineNs, &attr.PeriodNs} {
		d, err := time.ParseDuration(parts[i])
		if err != nil || d < 0 {
			return usagef("policy %q: %q is not a duration", text, parts[i])
		}
		*field = uint64(d)
	}
	return nil
}

// ParsePolicy reads a policy as people type it: "fifo:10", "rr", "other",
// "SCHED_BATCH", "fifo:10,reset-on-fork". A bare fifo or rr means priority 1.
// Errors are UsageErrors.
func ParsePolicy(text string) (PolicySetting, error) {
	attr, err := parsePolicy(strings.TrimSpace(text))
	if attr.Policy == kernel.Deadline {
		return PolicySetting{}, PolicySetting{Policy: kernel.Deadline}.validate()
	}
	if err != nil {
		return PolicySetting{}, err
	}
	setting := PolicySetting{Policy: attr.Policy, RTPrio: attr.RTPrio, ResetOnFork: attr.ResetOnFork}
	return setting, setting.validate()
}

func (p PolicySetting) validate() error {
	switch p.Policy {
	case kernel.Deadline:
		return usagef("policy deadline cannot be set: piton does not know the task's runtime and period")
	case kernel.FIFO, kernel.RR:
		if p.RTPrio < 1 || p.RTPrio > 99 {
			return usagef("real-time priority %d: it must be 1 (lowest) to 99 (highest)", p.RTPrio)
		}
	default:
		if p.RTPrio != 0 {
			return usagef("real-time priority %d with policy %s: only fifo and rr have one", p.RTPrio, p.Policy)
		}
	}
	return nil
}

// ParseNice reads a nice value: "-5", "10", "+3". Errors are UsageErrors.
func ParseNice(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, usagef("nice %q is not a number from -20 (first) to 19 (last)", text)
	}
	return n, validateNice(n)
}

func validateNice(n int) error {
	if n < -20 || n > 19 {
		return usagef("nice %d is out of range: -20 (first) to 19 (last)", n)
	}
	return nil
}
