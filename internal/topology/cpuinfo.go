package topology

import (
	"bytes"
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// coreID names a core as /proc/cpuinfo does; -1 where it does not say.
type coreID struct{ pkg, core int }

// readCPUInfo takes CPUs, cores and packages from /proc/cpuinfo, for a /sys
// that has none of them (a container's, or one that is not mounted).
func (t *Topology) readCPUInfo(path string) {
	data, err := procfs.ReadFile(path)
	if err != nil {
		return
	}
	found := parseCPUInfo(data)
	if t.Online.Empty() {
		var b cpuset.Builder
		for id := range found {
			b.Add(id)
		}
		t.Online = b.Set()
		t.CPUs = nil
		for id := range t.Online.All() {
			t.CPUs = append(t.CPUs, CPU{ID: id, Online: true, Node: -1, Core: cpuset.Of(id)})
		}
		t.setNumbers()
	}
	t.groupBy(func(c *CPU) *cpuset.Set { return &c.Core }, func(id cpuset.CPU) (coreID, bool) {
		is, ok := found[id]
		return is, ok && is.pkg >= 0 && is.core >= 0
	})
	t.groupBy(func(c *CPU) *cpuset.Set { return &c.Package }, func(id cpuset.CPU) (coreID, bool) {
		is, ok := found[id]
		return coreID{pkg: is.pkg}, ok && is.pkg >= 0
	})
}

// groupBy gives each online CPU the set of those with the same key. One without
// a key keeps what it has.
func (t *Topology) groupBy(field func(*CPU) *cpuset.Set, key func(cpuset.CPU) (coreID, bool)) {
	sets := map[coreID]cpuset.Set{}
	for id := range t.Online.All() {
		if k, ok := key(id); ok {
			sets[k] = sets[k].Or(cpuset.Of(id))
		}
	}
	for id := range t.Online.All() {
		if k, ok := key(id); ok {
			*field(t.lookup(id)) = sets[k]
		}
	}
}

// parseCPUInfo reads "processor", "physical id" and "core id" of each block of
// /proc/cpuinfo. Architectures other than x86 leave the ids out. s390x has a line
// "processor 0: version = FF, …" for each CPU, and blocks that begin with "cpu number"
// (arch/s390/kernel/processor.c).
func parseCPUInfo(data []byte) map[cpuset.CPU]coreID {
	out := map[cpuset.CPU]coreID{}
	now := cpuset.CPU(-1)
	for line := range bytes.Lines(data) {
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		name = bytes.TrimSpace(name)
		if number, ok := bytes.CutPrefix(name, []byte("processor ")); ok {
			name, value = name[:len("processor")], number
		}
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 {
			continue
		}
		is := out[now]
		switch string(name) {
		case "processor", "cpu number":
			if now = cpuset.CPU(n); now > cpuset.MaxCPU {
				now = -1
				continue
			}
			is = coreID{-1, -1}
		case "physical id":
			is.pkg = n
		case "core id":
			is.core = n
		}
		if now >= 0 {
			out[now] = is
		}
	}
	return out
}
