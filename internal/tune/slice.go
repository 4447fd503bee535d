package tune

import (
	"strings"
	"time"

	"piton/internal/kernel"
)

// An EEVDF slice is how long a task runs before another one's turn, if it wants
// to: a shorter one comes sooner and is interrupted more often (sched(7),
// Documentation/scheduler/sched-eevdf.rst). The kernel does not tell a slice that
// was set from its default, so the default's length reads as "default" here, and
// that is what an undo writes back.

const (
	sliceDefault = "default"
	sliceNone    = "none" // of a policy without slices, or of Linux before 6.12
	minSlice     = 100 * time.Microsecond
	maxSlice     = 100 * time.Millisecond
)

// ParseSlice reads a slice as people type it: "3ms", "500us", "default" or 0.
// Errors are UsageErrors.
func ParseSlice(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "0" || strings.EqualFold(text, sliceDefault) {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, usagef("slice %q is no time such as 3ms, nor default", text)
	}
	return d, validateSlice(d)
}

func validateSlice(d time.Duration) error {
	if d != 0 && (d < minSlice || d > maxSlice) {
		return usagef("slice %v is out of range: %v to %v, or 0 for the default", d, minSlice, maxSlice)
	}
	return nil
}

func formatSlice(d time.Duration) string {
	if d == 0 {
		return sliceDefault
	}
	return d.String()
}

func readSlice(t *Tuner, c Change) (string, error) {
	ns, err := t.o.Sched.Slice(c.TID)
	if err != nil {
		return "", err
	}
	base, err := t.o.Sched.BaseSlice()
	switch {
	case err != nil:
		return "", err
	case ns == 0:
		return sliceNone, nil
	case ns == base:
		return sliceDefault, nil
	}
	return formatSlice(time.Duration(ns)), nil
}

func writeSlice(t *Tuner, c Change) error {
	d, err := ParseSlice(c.After)
	if err != nil {
		return err
	}
	return t.o.Sched.SetSlice(c.TID, uint64(d))
}

// slice refuses what the kernel would take without effect.
func (p *planner) slice(_ task, c *Change) {
	base, err := p.t.o.Sched.BaseSlice()
	switch {
	case err != nil:
	case base == 0:
		refuse(c, "this kernel has no slices to set: Linux 6.12 and later have (EEVDF)")
		c.Err = ErrNotSupported
	case c.Before == sliceNone:
		refuse(c, "its policy is %s, and only OTHER and BATCH tasks have a slice", p.policyNow(*c))
	case c.After == formatSlice(time.Duration(base)):
		c.After = sliceDefault
	}
}

// policyNow names the task's policy for a sentence.
func (p *planner) policyNow(c Change) kernel.Policy {
	attr, _ := p.t.o.Sched.Attr(c.TID)
	return attr.Policy
}
