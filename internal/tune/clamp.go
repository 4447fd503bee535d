package tune

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/kernel"
)

// ClampSetting is utilisation clamps to set, or the defaults of the task's policy.
type ClampSetting struct {
	kernel.Clamp
	Reset bool
}

const clampDefault = "default"

// String is the setting as the flags and JSON have it: "0,512", "default".
func (s ClampSetting) String() string {
	if s.Reset {
		return clampDefault
	}
	return formatClamp(s.Clamp)
}

func formatClamp(c kernel.Clamp) string { return fmt.Sprintf("%d,%d", c.Min, c.Max) }

// ParseClamp reads clamps as people type them: "0,512", "20%,80%", "default".
// Errors are UsageErrors.
func ParseClamp(text string) (ClampSetting, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, clampDefault) {
		return ClampSetting{Reset: true}, nil
	}
	low, high, ok := strings.Cut(text, ",")
	if !ok {
		return ClampSetting{}, usagef("clamps %q: give the least and the most, such as 0,512 or 0%%,50%%, or default", text)
	}
	var s ClampSetting
	var err error
	if s.Min, err = parseClamp(low); err == nil {
		s.Max, err = parseClamp(high)
	}
	if err != nil {
		return ClampSetting{}, err
	}
	return s, s.validate()
}

func parseClamp(text string) (int, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.Atoi(number)
	top := kernel.ClampMax
	if percent {
		top = 100
	}
	if err != nil || n < 0 || n > top {
		return 0, usagef("clamp %q must be 0 to %d, or 0%% to 100%%", text, kernel.ClampMax)
	}
	return n * kernel.ClampMax / top, nil
}

func (s ClampSetting) validate() error {
	switch {
	case s.Reset:
	case s.Min < 0 || s.Max > kernel.ClampMax:
		return usagef("clamps %v are out of range: 0 to %d", s, kernel.ClampMax)
	case s.Min > s.Max:
		return usagef("clamps %v: the least is above the most", s)
	}
	return nil
}

func readClamp(t *Tuner, c Change) (string, error) {
	clamp, err := t.o.Sched.Clamp(c.TID)
	return formatClamp(clamp), err
}

// writeClamp resets rather than set the defaults, so that a task which changes
// its policy later gets the defaults of that.
func writeClamp(t *Tuner, c Change) error {
	s, err := ParseClamp(c.After)
	if err != nil {
		return err
	}
	usual, err := t.usualClamp(c.TID)
	if err != nil {
		return err
	}
	return t.o.Sched.SetClamp(c.TID, s.Clamp, s.Clamp == usual)
}

// usualClamp returns the defaults of the task's policy
// (sched_util_clamp_min_rt_default in Documentation/admin-guide/sysctl/kernel.rst).
func (t *Tuner) usualClamp(tid kernel.TID) (kernel.Clamp, error) {
	usual := kernel.Clamp{Min: 0, Max: kernel.ClampMax}
	attr, err := t.o.Sched.Attr(tid)
	if err == nil && (attr.Policy == kernel.FIFO || attr.Policy == kernel.RR) {
		usual.Min = kernel.ClampMax
		if n, err := t.o.Proc.Sysctl("kernel/sched_util_clamp_min_rt_default"); err == nil {
			usual.Min = int(n)
		}
	}
	return usual, err
}

func (p *planner) clamp(_ task, c *Change) {
	if c.After != clampDefault {
		return
	}
	usual, err := p.t.usualClamp(c.TID)
	if err != nil {
		c.Status, c.Err, c.Reason = Refused, p.t.mark(err), p.t.explain(*c, err)
		return
	}
	c.After = formatClamp(usual)
}
