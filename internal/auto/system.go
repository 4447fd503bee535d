package auto

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/topology"
)

const (
	// numaBalancing moves memory to the node of the threads that use it
	// (Documentation/admin-guide/sysctl/kernel.rst).
	numaBalancing = "/proc/sys/kernel/numa_balancing"
	// llcBalancing keeps the threads of a process in one last-level cache (from Linux 7.2).
	llcBalancing = "/sys/kernel/debug/sched/llc_balancing/enabled"
	// baseSlice is how long an ordinary task runs before another is looked for, in ns
	// (kernel/sched/fair.c; from Linux 6.6).
	baseSlice = "/sys/kernel/debug/sched/base_slice_ns"
)

// sliceBy is by how much a base slice is made shorter and longer.
const sliceBy = 4

// System are the kernel's own means, as candidates: what it has is switched to the other
// state, for all tasks of the machine. What there is nothing to try of says why.
func System(files kernel.Settings, t *topology.Topology) (out []Candidate) {
	add := func(a attr.Attribute, path, name, value, reason string) {
		v, err := a.Parse(value)
		if err == nil {
			out = append(out, Candidate{Name: name, Files: []attr.FileSetting{attr.SetFile(a, path, filepath.Base(path), v)}, Reason: reason})
		}
	}
	read := func(path, name, pointless string) (now int64, is bool) {
		text, err := files.ReadSetting(path)
		if err == nil {
			now, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		}
		if err != nil {
			pointless = fmt.Sprintf("cannot be read: %v", err)
		}
		if pointless != "" {
			out = append(out, Candidate{Name: name, Reason: pointless})
		}
		return now, pointless == ""
	}
	onOff := func(a attr.Attribute, path, name, what, pointless string) {
		now, is := read(path, name, pointless)
		switch {
		case is && now == 0:
			add(a, path, name+" on", "1", what+", which is off")
		case is:
			add(a, path, name+" off", "0", what+", which is on")
		}
	}
	one := func(n int, what string) string {
		if n > 1 {
			return ""
		}
		return "there is one " + what
	}
	onOff(attr.Sysctl, numaBalancing, "numa_balancing", "the kernel moves memory to the node of its threads", one(len(t.Nodes), "node"))
	onOff(attr.SchedDebug, llcBalancing, "llc_balancing", "the kernel keeps the threads of a process in one cache", one(len(Caches(t, t.Online)), "cache"))
	if now, is := read(baseSlice, "base slice", ""); is {
		for _, ns := range []int64{now / sliceBy, now * sliceBy} {
			add(attr.SchedDebug, baseSlice, fmt.Sprintf("base slice %v", time.Duration(ns)), fmt.Sprint(ns), fmt.Sprintf("an ordinary task runs for %v now before another may", time.Duration(now)))
		}
	}
	return out
}
