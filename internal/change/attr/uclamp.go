package attr

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/kernel"
)

// Clamp is the utilisation clamps of a thread, a ClampValue
// (Documentation/scheduler/sched-util-clamp.rst).
const Clamp Attribute = "uclamp"

// ClampValue is "0,512", each 0 to 1024; or the defaults of the task's policy, which
// only a wish names: "default".
type ClampValue struct {
	kernel.Clamp
	Reset bool
}

const clampDefault = "default"

var clamp = spec{
	title: "utilisation clamps", parse: parseClamps,
	read: reading(kernel.Scheduler.Clamp, func(c kernel.Clamp) Value { return ClampValue{Clamp: c} }),
	// The defaults are reset rather than set, so that a task which changes its policy
	// later gets the defaults of that.
	write: func(w Write) error {
		usual, err := usualClamp(w.Machine, w.Change.TID)
		if err != nil {
			return err
		}
		c := w.Change.After.(ClampValue).Clamp
		return w.Task.SetClamp(c, c == usual)
	},
	prepare: func(v *View, _ Task, c *Change) {
		if !c.After.(ClampValue).Reset {
			return
		}
		usual, err := usualClamp(v.Machine, c.TID)
		if c.After = (ClampValue{Clamp: usual}); err != nil {
			v.RefuseFor(c, err)
		}
	},
	risk:   underSchedExt("uclamp"),
	absent: lacking("uclamp (CONFIG_UCLAMP_TASK)", syscall.EOPNOTSUPP, syscall.EINVAL),
	command: &Command{
		Flag: "uclamp", Usage: "utilisation clamps, `MIN,MAX`: 0 to 1024, or per cent",
		Verb: "uclamp", Use: "uclamp TARGET… MIN,MAX", What: "clamps",
		Words: []string{"default"}, Short: "set the utilisation clamps",
		Long: `Set the limits of a task's utilisation, as the kernel uses it to choose a frequency and a CPU: two numbers from 0 to
1024, or per cent, or default. It needs a kernel with CONFIG_UCLAMP_TASK, which piton doctor checks.`,
		Example: "  piton uclamp 3641 512,1024\n  piton uclamp user:build 0%,30%\n  piton uclamp 3641 default",
	},
}

func (c ClampValue) String() string {
	if c.Reset {
		return clampDefault
	}
	return fmt.Sprintf("%d,%d", c.Min, c.Max)
}

// parseClamps reads "0,512", "20%,80%", "default".
func parseClamps(text string) (Value, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, clampDefault) {
		return ClampValue{Reset: true}, nil
	}
	low, high, ok := strings.Cut(text, ",")
	if !ok {
		return nil, Usagef("clamps %q: give the least and the most, such as 0,512 or 0%%,50%%, or default", text)
	}
	var c ClampValue
	var err error
	if c.Min, err = parseClamp(low); err == nil {
		c.Max, err = parseClamp(high)
	}
	if err == nil && c.Min > c.Max {
		err = Usagef("clamps %v: the least is above the most", c)
	}
	return c, err
}

func parseClamp(text string) (int, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.Atoi(number)
	top := kernel.ClampMax
	if percent {
		top = 100
	}
	if err != nil || n < 0 || n > top {
		return 0, Usagef("clamp %q must be 0 to %d, or 0%% to 100%%", text, kernel.ClampMax)
	}
	return n * kernel.ClampMax / top, nil
}

// usualClamp returns the defaults of the task's policy
// (sched_util_clamp_min_rt_default in Documentation/admin-guide/sysctl/kernel.rst).
func usualClamp(m *Machine, tid kernel.TID) (kernel.Clamp, error) {
	usual := kernel.Clamp{Min: 0, Max: kernel.ClampMax}
	attr, err := m.Sched.Attr(tid)
	if err == nil && (attr.Policy == kernel.FIFO || attr.Policy == kernel.RR) {
		usual.Min = kernel.ClampMax
		if n, err := m.Proc.Sysctl("kernel/sched_util_clamp_min_rt_default"); err == nil {
			usual.Min = int(n)
		}
	}
	return usual, err
}
