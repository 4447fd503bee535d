package topology

import (
	"fmt"
	"path/filepath"
	"strconv"

	"piton/internal/cpuset"
)

// Read reads the topology of the machine whose /proc and /sys are below root:
// "/" for this one, or the top of a recorded host tree. What the kernel does
// not describe stays empty, as the fields of Topology say; the error is for a
// root that describes no CPU at all.
//
// Files: Documentation/admin-guide/cputopology.rst and
// Documentation/ABI/testing/sysfs-devices-system-cpu of the kernel.
func Read(root string) (*Topology, error) {
	sys := filepath.Join(root, "sys/devices/system")
	t := Topology{}
	cpus := dir(filepath.Join(sys, "cpu"))
	t.readLists(cpus)
	t.readLevels(cpus)
	t.readCaches(cpus)
	if t.Online.Empty() || !t.described() {
		t.readCPUInfo(filepath.Join(root, "proc/cpuinfo"))
	}
	if t.Online.Empty() {
		return nil, fmt.Errorf("read CPU topology below %s: neither sys/devices/system/cpu nor proc/cpuinfo there lists a CPU", root)
	}
	t.readKinds(filepath.Join(root, "sys/devices"))
	t.readNodes(filepath.Join(sys, "node"), filepath.Join(root, "proc/meminfo"))
	t.readAllowed(root)
	return New(t), nil
}

// ReadFor reads what a CPUS expression (ParseCPUs) needs to be evaluated: all, or
// only which CPUs there are where it names no part of the machine. The files of
// hundreds of CPUs take longer to read than what is done with the few it means.
func ReadFor(root, expr string) (*Topology, error) {
	if namesLevel(expr) {
		return Read(root)
	}
	t := Topology{}
	if t.readLists(dir(filepath.Join(root, "sys/devices/system/cpu"))); t.Online.Empty() {
		return Read(root)
	}
	return New(t), nil
}

// readLists fills Online, Present, NohzFull and the CPUs as far as lists of
// /sys/devices/system/cpu tell.
func (t *Topology) readLists(d dir) {
	t.Online, t.Present = onlinePresent(d)
	isolated, _ := d.list("isolated")
	t.NohzFull, _ = d.list("nohz_full")
	t.CPUs = make([]CPU, 0, t.Present.Len())
	for id := range t.Present.All() {
		on := t.Online.Has(id)
		t.CPUs = append(t.CPUs, CPU{ID: id, Online: on, Isolated: on && isolated.Has(id), Node: -1})
	}
	t.setNumbers()
}

// onlinePresent reads which CPUs there are. Kernels before 2.6.26 have no lists,
// but a directory for every CPU, in it the file online, except for a CPU that
// cannot be taken offline.
func onlinePresent(d dir) (online, present cpuset.Set) {
	present, havePresent := d.list("present")
	online, haveOnline := d.list("online")
	if !havePresent {
		present = d.numbered("cpu")
	}
	if !haveOnline {
		var b cpuset.Builder
		for id := range present.All() {
			if on, ok := d.number("cpu", strconv.Itoa(int(id)), "/online"); !ok || on == 1 {
				b.Add(id)
			}
		}
		online = b.Set()
	}
	return online, present.Or(online)
}

// described reports whether /sys told which CPUs share a package or core.
func (t *Topology) described() bool {
	for i := range t.CPUs {
		if !t.CPUs[i].Package.Empty() || t.CPUs[i].Core.Len() > 1 {
			return true
		}
	}
	return false
}

// readLevels fills Core, Package and Die of the online CPUs.
func (t *Topology) readLevels(d dir) {
	// The first names are there since 5.3, the second ones before and still.
	t.partition(func(c *CPU) *cpuset.Set { return &c.Core }, func(at string) (cpuset.Set, bool) {
		if set, ok := d.set(at, "core_cpus", "core_cpus_list"); ok {
			return set, true
		}
		set, _ := d.set(at, "thread_siblings", "thread_siblings_list")
		return set, true
	})
	t.partition(func(c *CPU) *cpuset.Set { return &c.Package }, func(at string) (cpuset.Set, bool) {
		if set, ok := d.set(at, "package_cpus", "package_cpus_list"); ok {
			return set, true
		}
		return d.set(at, "core_siblings", "core_siblings_list")
	})
	t.partition(func(c *CPU) *cpuset.Set { return &c.Die }, func(at string) (cpuset.Set, bool) {
		return d.set(at, "die_cpus", "die_cpus_list")
	})
}

// partition gives every online CPU its set of one level. A set is read once, at
// its first CPU, and holds for all in it: on 512 CPUs the rest would be most of
// the reading. A CPU belongs to the first set that names it, so the sets of a
// level never overlap, whatever the files say.
func (t *Topology) partition(field func(*CPU) *cpuset.Set, read func(at string) (cpuset.Set, bool)) {
	left := t.Online
	for i := range t.CPUs {
		c := &t.CPUs[i]
		if !left.Has(c.ID) {
			continue
		}
		set, ok := read(topologyDir(c.ID))
		if !ok {
			continue
		}
		set = set.Or(cpuset.Of(c.ID)).And(left)
		t.assign(set, field)
		left = left.AndNot(set)
	}
}

// assign gives each CPU of a set the set.
func (t *Topology) assign(set cpuset.Set, field func(*CPU) *cpuset.Set) {
	for id := range set.All() {
		*field(t.lookup(id)) = set
	}
}

func topologyDir(id cpuset.CPU) string { return "cpu" + strconv.Itoa(int(id)) + "/topology/" }
