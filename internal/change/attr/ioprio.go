package attr

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/kernel"
)

// IOPrio is the I/O priority of a thread, an IOPrioValue (ioprio_set(2)).
const IOPrio Attribute = "ioprio"

// IOPrioValue is "none", "real-time:0", "best-effort:4" or "idle".
type IOPrioValue kernel.IOPrio

var ioprio = spec{
	title: "I/O priority", parse: parseIOPrio,
	read:  reading(kernel.Scheduler.IOPrio, func(p kernel.IOPrio) Value { return IOPrioValue(p) }),
	write: func(w Write) error { return w.Task.SetIOPrio(kernel.IOPrio(w.Change.After.(IOPrioValue))) },
	words: func(v Value) string { return "I/O priority " + v.String() },
	explain: func(m *Machine, _ Change, errno syscall.Errno) string {
		if isPermission(errno) && m.Has(kernel.CapSysNice) {
			return "the kernel refused although CAP_SYS_NICE is held; before Linux 5.14 real-time I/O priority needs CAP_SYS_ADMIN"
		}
		return ""
	},
	// ioprio_check_cap of block/ioprio.c
	privileged: func(_ *Machine, c Change) (string, string, uint64) {
		if want := c.After.(IOPrioValue); want.Class != kernel.IORealTime {
			return "", "", 0
		}
		return "I/O priority " + c.After.String(), "", 0
	},
	setBy: []string{"ananicy", "IOSchedulingClass", "IOSchedulingPriority"},
	command: &Command{
		Flag: "ioprio", Usage: "I/O priority `CLASS`[:LEVEL]: real-time, best-effort, idle, none",
		Verb: "ionice", Use: "ionice TARGET… CLASS[:LEVEL]", What: "an I/O class",
		Words: []string{"real-time:", "best-effort:", "idle", "none"}, Short: "set the I/O priority",
		Long:    "Set the I/O priority: real-time or best-effort with a level 0 (first) to 7 (last), idle, or none.",
		Example: "  piton ionice 3641 best-effort:7\n  piton ionice backup idle",
	},
}

// SetIOPrio asks for an I/O priority.
func SetIOPrio(p kernel.IOPrio) Setting { return Setting{IOPrio, IOPrioValue(p)} }

// defaultIOLevel is what a class without a level means, as for ionice(1).
const defaultIOLevel = 4

// ioClasses are the names of each class, ionice's number last.
var ioClasses = [][]string{
	kernel.IONone:       {"none", "0"},
	kernel.IORealTime:   {"real-time", "realtime", "rt", "1"},
	kernel.IOBestEffort: {"best-effort", "be", "2"},
	kernel.IOIdle:       {"idle", "3"},
}

func leveled(class kernel.IOClass) bool {
	return class == kernel.IORealTime || class == kernel.IOBestEffort
}

func (p IOPrioValue) String() string {
	if int(p.Class) >= len(ioClasses) {
		return ioClasses[kernel.IONone][0]
	}
	text := ioClasses[p.Class][0]
	if leveled(p.Class) {
		text += ":" + strconv.Itoa(int(p.Level))
	}
	return text
}

// parseIOPrio reads "best-effort:4", "be:4", "rt:0", "idle", "none", or ionice's class
// numbers, "2:4".
func parseIOPrio(text string) (Value, error) {
	name, level, hasLevel := strings.Cut(strings.TrimSpace(text), ":")
	i := slices.IndexFunc(ioClasses, func(names []string) bool { return slices.Contains(names, strings.ToLower(name)) })
	p := IOPrioValue{Class: kernel.IOClass(i)}
	switch {
	case i < 0:
		return nil, Usagef("I/O priority %q: the class must be real-time, best-effort, idle or none", text)
	case hasLevel && !leveled(p.Class):
		return nil, Usagef("I/O priority %q: only real-time and best-effort take a level", text)
	case hasLevel:
		n, err := strconv.ParseUint(level, 10, 3)
		if err != nil {
			return nil, Usagef("I/O priority %q: the level must be 0 (first) to 7 (last)", text)
		}
		p.Level = int8(n)
	case leveled(p.Class):
		p.Level = defaultIOLevel
	}
	return p, nil
}
