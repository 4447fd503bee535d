package attr

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/place"
	"piton/internal/procfs"
)

// GroupMode returns how the kernel weighs groups; assumed says that cgroup_mode in debugfs
// cannot be read, and the mode is the default of the kernel's release.
func (m *Machine) GroupMode() (mode place.GroupMode, assumed bool) {
	text, err := procfs.ReadFile(filepath.Join(m.Proc.Root(), "sys/kernel/debug/sched/cgroup_mode"))
	if mode = place.ParseGroupMode(string(text)); err == nil && mode != "" {
		return mode, false
	}
	if procfs.ReleaseAtLeast(m.Proc, 7, 3) {
		return place.GroupsConcur, true
	}
	return place.GroupsSMP, false
}

// GroupRule is the rule of the GroupMode, in a sentence.
func (m *Machine) GroupRule() string {
	mode, assumed := m.GroupMode()
	if assumed {
		return mode.Rule() + " (the default of Linux 7.3, assumed: cgroup_mode in debugfs cannot be read)"
	}
	return mode.Rule()
}

// TaskGroup returns the group that a process competes in: its cgroup with the cpu
// controller, else the autogroup of its session (auto). "" is the root group, whose tasks
// compete by their own weights (task_wants_autogroup of kernel/sched/autogroup.c, sched(7)).
func (m *Machine) TaskGroup(pid kernel.TID) (name string, auto bool) {
	if g, err := m.Cgroup(pid, "cpu"); err == nil {
		if name = g.Weighed(); name != "" {
			return name, false
		}
	}
	if on, err := m.Proc.Sysctl("kernel/sched_autogroup_enabled"); err != nil || on == 0 {
		return "", false
	}
	name, _, err := m.Proc.Autogroup(pid)
	if err != nil {
		name = ""
	}
	return name, name != ""
}

// Weighed is the nearest group, itself or above, that has a weight of its own; "" is the root group.
func (g CgroupDir) Weighed() string {
	for path := g.Path; path != "/"; path = filepath.Dir(path) {
		if !g.Unified {
			return path
		}
		if _, err := tree.Stat(g.File(path, "cpu.weight")); err == nil {
			return path
		}
	}
	return ""
}

// Autogrouped reports whether nice ranks the process within its session only.
func (m *Machine) Autogrouped(pid kernel.TID) bool {
	_, auto := m.TaskGroup(pid)
	return auto
}

// SchedExt returns the name of the sched_ext scheduler that is in force, "" if there is none
// (Documentation/scheduler/sched-ext.rst).
func (m *Machine) SchedExt() string {
	dir := filepath.Join(m.Proc.Root(), "sys/kernel/sched_ext")
	if state, err := procfs.ReadFile(filepath.Join(dir, "state")); err != nil || string(state) != "enabled\n" {
		return ""
	}
	name, _ := procfs.ReadFile(filepath.Join(dir, "root/ops"))
	return Printable(strings.TrimSpace(string(name)))
}

// inSchedExt reports whether the scheduler that is in force runs the thread: a partial one
// (SCX_OPS_SWITCH_PARTIAL) has EXT tasks only.
func (m *Machine) inSchedExt(pid, tid kernel.TID) bool {
	text, err := m.Proc.File(strconv.Itoa(int(pid)), "task", strconv.Itoa(int(tid)), "sched")
	return err == nil && procfs.InSchedExt(text)
}

// Competition says where a process competes for CPUs, and what decides its share besides
// its own nice value; both are "" in the root group.
func (m *Machine) Competition(pid kernel.TID) (where, rule string) {
	if name := m.SchedExt(); name != "" && m.inSchedExt(pid, pid) {
		return "under the sched_ext scheduler " + name, "it decides whether nice and weights count"
	}
	switch name, auto := m.TaskGroup(pid); {
	case auto:
		return "in the autogroup of its session", m.GroupRule()
	case name != "":
		return "in the cgroup " + name, m.GroupRule()
	}
	return "", ""
}

// riskGroup says where nice counts, once for each process.
func riskGroup(v *View, c Change) {
	if v.grouped[c.PID] {
		return
	}
	v.grouped[c.PID] = true
	switch name, auto := v.TaskGroup(c.PID); {
	case auto:
		v.Warn(Note, "autogroup is on: nice acts within the session of %d only; for the whole session: piton nice --autogroup %d %s", c.PID, c.PID, c.After)
	case name != "":
		command := ""
		if _, err := v.GroupOf(c.PID, Weight); err == nil {
			command = fmt.Sprintf(": piton weight %d VALUE", c.PID)
		}
		v.Warn(Note, "nice acts within the cgroup %s only; against others the group's weight counts%s", name, command)
	default:
		return
	}
	v.Warn(Note, "between groups: %s", v.GroupRule())
}

// underSchedExt says that a sched_ext scheduler decides about what is set, if one runs the
// thread: the kernel goes on accepting and showing it.
func underSchedExt(what string) func(v *View, c Change) {
	return func(v *View, c Change) {
		if name := v.ext(); name != "" && v.inSchedExt(c.PID, c.TID) {
			v.Warn(Note, "the sched_ext scheduler %s is in force: it decides whether %s counts", name, what)
		}
	}
}
