package attr

import (
	"slices"
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
	setBy:   []string{"tuned"},
}

// pairs are sysctls of which one is in force and the other reads 0: setting that clears
// the first (Documentation/admin-guide/sysctl/vm.rst).
var pairs = map[string]string{
	"vm/dirty_bytes": "vm.dirty_ratio", "vm/dirty_ratio": "vm.dirty_bytes",
	"vm/dirty_background_bytes": "vm.dirty_background_ratio", "vm/dirty_background_ratio": "vm.dirty_background_bytes",
	"vm/overcommit_kbytes": "vm.overcommit_ratio", "vm/overcommit_ratio": "vm.overcommit_kbytes",
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
