package attr

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"piton/internal/kernel"
)

// Autogroup is the nice value of the session that a process is in, a NiceValue
// (sched(7), "The autogroup feature").
const Autogroup Attribute = "autogroup"

var autogroup = spec{
	title: "autogroup nice", process: true, parse: parseNice,
	read: func(m *Machine, o Object) (Value, error) {
		name, n, err := m.Proc.Autogroup(o.PID)
		if err == nil && name == "" {
			err = markedError{errors.New("it is in no autogroup: it belongs to no session that was started while autogroup was on"), ErrNotSupported}
		}
		return NiceValue(n), err
	},
	write: func(w Write) error { return w.Task.WriteFile("autogroup", w.Change.After.String()+"\n") },
	// One process stands for its whole session.
	prepare: func(v *View, k Task, c *Change) {
		name, _, err := v.Proc.Autogroup(k.PID)
		if other, seen := v.sessions[name]; err == nil && seen && other != k.PID {
			c.After, c.Status, c.Reason = c.Before, Unchanged, fmt.Sprintf("it is in the session of %d", other)
			return
		}
		v.sessions[name] = k.PID
	},
	absent: lacking("autogroup (CONFIG_SCHED_AUTOGROUP)", syscall.ENOENT),
	causes: map[syscall.Errno]string{
		syscall.EAGAIN: "the kernel takes one such change in a tenth of a second from ordinary users: try again",
	},
	// proc_sched_autogroup_set_nice of kernel/sched/autogroup.c: the limit is the caller's.
	privileged: func(m *Machine, c Change) (string, string, uint64) {
		limits, err := m.Limits(kernel.TID(os.Getpid()))
		if c.After.(NiceValue) >= 0 || err == nil && limits.Nice >= niceLimit(c.After) {
			return "", "", 0
		}
		return "a session's nice value below 0", "", 0
	},
	setBy: []string{"ananicy"},
	risk: func(v *View, c Change) {
		v.Warn(Note, "between sessions: %s", v.GroupRule())
		underSchedExt("nice")(v, c)
	},
}
