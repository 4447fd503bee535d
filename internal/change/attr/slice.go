package attr

import (
	"strings"
	"time"
)

// Slice is the EEVDF slice of an OTHER or BATCH thread, a SliceValue: how long it runs
// before the next task's turn. With a shorter one it comes sooner and is interrupted
// more often (sched(7), Documentation/scheduler/sched-eevdf.rst).
// A slice that was set to the length of the default reads as the default does, so that
// length is "default", and an undo writes that back.
const Slice Attribute = "slice"

// SliceValue is "3ms", "default" (0), or "none" (below 0): of a policy without
// slices, or of Linux before 6.12.
type SliceValue time.Duration

// NoSlice is what a task has that has none.
const NoSlice SliceValue = -1

const (
	sliceDefault = "default"
	sliceNone    = "none"
	minSlice     = 100 * time.Microsecond
	maxSlice     = 100 * time.Millisecond
)

var slice = spec{
	parse: parseSlice, read: readSlice, prepare: prepareSlice, risk: underSchedExt("the slice"),
	write: func(w Write) error { return w.Task.SetSlice(uint64(max(0, w.Change.After.(SliceValue)))) },
	command: &Command{
		Flag: "slice", Usage: "EEVDF slice of ordinary tasks, a `TIME`: 0.1ms to 100ms, 0 for the default",
		Verb: "slice", Use: "slice TARGET… TIME", What: "a time",
		Words: []string{"default", "1ms", "3ms"}, Short: "set the slice of ordinary tasks",
		Long: `Set the slice of OTHER and BATCH tasks, the time that one runs before the next: 0.1ms to 100ms, 0 or default for the
kernel's own. A task with a short slice runs sooner and is preempted more often; its share of the CPU stays the same
(EEVDF, Linux 6.12). A slice of the default's length reads back as default.`,
		Example: "  piton slice 3641 3ms\n  piton slice thread:/^audio/ 0.5ms\n  piton slice 3641 default",
	},
}

// SetSlice asks for a slice, 0 = the kernel's default.
func SetSlice(d time.Duration) Setting { return Setting{Slice, SliceValue(d)} }

func (s SliceValue) String() string {
	switch {
	case s < 0:
		return sliceNone
	case s == 0:
		return sliceDefault
	}
	return time.Duration(s).String()
}

// parseSlice reads "3ms", "500us", "default" or 0, and "none" of a task without.
func parseSlice(text string) (Value, error) {
	text = strings.TrimSpace(text)
	switch {
	case strings.EqualFold(text, sliceDefault):
		return SliceValue(0), nil
	case text == sliceNone:
		return NoSlice, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, Usagef("slice %q is no time such as 3ms, nor default", text)
	}
	if d != 0 && (d < minSlice || d > maxSlice) {
		return nil, Usagef("slice %v is out of range: %v to %v, or 0 for the default", d, minSlice, maxSlice)
	}
	return SliceValue(d), nil
}

func readSlice(m *Machine, o Object) (Value, error) {
	ns, err := m.Sched.Slice(o.TID)
	if err != nil {
		return nil, err
	}
	switch base, err := m.Sched.BaseSlice(); {
	case err != nil:
		return nil, err
	case ns == 0:
		return NoSlice, nil
	case ns == base:
		return SliceValue(0), nil
	}
	return SliceValue(ns), nil
}

// prepareSlice refuses what the kernel would take without effect.
func prepareSlice(v *View, _ Task, c *Change) {
	base, err := v.Sched.BaseSlice()
	switch {
	case err != nil:
	case base == 0:
		c.Refuse("this kernel has no slices to set: Linux 6.12 and later have (EEVDF)")
		c.Err = ErrNotSupported
	case c.Before == NoSlice:
		attr, _ := v.Sched.Attr(c.TID)
		c.Refuse("its policy is %s, and only OTHER and BATCH tasks have a slice", attr.Policy)
	case c.After == NoSlice:
		c.Refuse("an OTHER or BATCH task cannot be without a slice")
	case c.After == SliceValue(base):
		c.After = SliceValue(0)
	}
}
