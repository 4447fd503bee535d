package attr

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/pattern"
)

// Sysctl is any file below /proc/sys, a Line.
const Sysctl Attribute = "sysctl"

var sysctl = spec{
	path:  pattern.Whole(`/proc/sys/[^/\s\x00]+(/[^/\s\x00]+)*`),
	parse: parseLine,
	title: "value", noun: "sysctl",
	// The mode binds root, too, whatever its capabilities (test_perm in fs/proc/proc_sysctl.c).
	absent: func(m *Machine, c Change, errno syscall.Errno) string {
		switch {
		case !isPermission(errno):
		case m.Files.Lacks(c.Path, 0o444):
			return c.Path + " is write-only: its old value cannot be read, so the change could not be undone"
		case m.Files.Lacks(c.Path, 0o222):
			return c.Path + " is read-only: the kernel accepts no value, not even from root"
		}
		return ""
	},
	prepare: prepareSysctl,
	final:   finalSysctl,
	setBy:   []string{"tuned"},
}

// pairs are sysctls of which one is in force and the other reads 0: setting that clears
// the first (Documentation/admin-guide/sysctl/vm.rst).
var pairs = map[string]string{
	"vm/dirty_bytes": "vm.dirty_ratio", "vm/dirty_ratio": "vm.dirty_bytes",
	"vm/dirty_background_bytes": "vm.dirty_background_ratio", "vm/dirty_background_ratio": "vm.dirty_background_bytes",
	"vm/overcommit_kbytes": "vm.overcommit_ratio", "vm/overcommit_ratio": "vm.overcommit_kbytes",
}

// oneWay are sysctls with values that the kernel does not leave: what it refuses of them, whatever
// the rights (Documentation/admin-guide/sysctl/kernel.rst, Documentation/admin-guide/LSM/Yama.rst).
var oneWay = map[string]func(before, after int64) bool{
	"kernel/kexec_load_disabled":       stays(1),
	"kernel/modules_disabled":          stays(1),
	"kernel/unprivileged_bpf_disabled": stays(1),
	"kernel/yama/ptrace_scope":         stays(3),
	"kernel/kexec_load_limit_panic":    onlyLower,
	"kernel/kexec_load_limit_reboot":   onlyLower,
	"kernel/tainted":                   func(before, after int64) bool { return before&^after != 0 },
}

func stays(final int64) func(before, after int64) bool {
	return func(before, _ int64) bool { return before == final }
}

// onlyLower is of limits: -1 is none.
func onlyLower(before, after int64) bool { return after < 0 || before >= 0 && after > before }

func finalSysctl(c Change) bool {
	refused := oneWay[strings.TrimPrefix(c.Path, "/proc/sys/")]
	before, err := strconv.ParseInt(Text(c.Before), 10, 64)
	after, err2 := strconv.ParseInt(Text(c.After), 10, 64)
	return refused != nil && err == nil && err2 == nil && refused(before, after)
}

func prepareSysctl(_ *View, _ Task, c *Change) {
	if other, paired := pairs[strings.TrimPrefix(c.Path, "/proc/sys/")]; paired && c.Before == Line("0") {
		c.Refuse("%s is in force instead, and setting this would clear that, which could not be undone; set %s", other, other)
		c.Err = ErrNotSupported
	}
}

// programs are sysctls that make the kernel run what they name, with all
// rights. piton has no use for them, and an entry of a journal none either.
var programs = []string{
	"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug",
	"/proc/sys/kernel/poweroff_cmd", "/proc/sys/kernel/usermodehelper/", "/proc/sys/fs/binfmt_misc/",
}

func runsProgram(file string) bool {
	return slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(file, p) })
}

// parseLine reads one line. How much white space there is between words does not count: the
// kernel writes tabs, people blanks.
func parseLine(text string) (Value, error) {
	if strings.ContainsAny(strings.TrimSuffix(text, "\n"), "\x00\n") {
		return nil, Usagef("%q is not one line of text", text)
	}
	return Line(strings.Join(strings.Fields(text), " ")), nil
}

// SchedDebug is a setting of the scheduler in debugfs (kernel/sched/debug.c), a Line.
const SchedDebug Attribute = "sched-debug"

var schedDebug = spec{
	path: pattern.Whole(`/sys/kernel/debug/sched/(base_slice_ns|llc_balancing/enabled)`), parse: parseLine,
	title: "value", noun: "scheduler setting",
}
