package topology

import (
	"bytes"
	"path/filepath"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/procfs"
)

// limitNames are the files of a cpuset's directory that hold its CPUs and
// memory nodes: cgroup v2, v1, and v1 mounted with noprefix.
var limitNames = [...]struct{ cpus, mems string }{
	{"cpuset.cpus.effective", "cpuset.mems.effective"},
	{"cpuset.cpus", "cpuset.mems"},
	{"cpus", "mems"},
}

// readAllowed fills Allowed of the topology and its nodes from the cpuset that
// the reading process is in, cgroups(7) and cpuset(7).
func (t *Topology) readAllowed(root string) {
	t.Allowed = t.Online
	group, ok := cpusetGroup(root)
	if !ok {
		return
	}
	usual := []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"}
	if t.limitBy(root, usual, group) {
		return
	}
	mounts, _ := procfs.ReadFile(filepath.Join(root, "proc/mounts"))
	t.limitBy(root, cpusetMounts(mounts), group)
}

// cpusetGroup is the path of the reading process's cpuset below the mount point
// of its hierarchy.
func cpusetGroup(root string) (string, bool) {
	if data, err := procfs.ReadFile(filepath.Join(root, "proc/self/cpuset")); err == nil {
		return strings.TrimSpace(string(data)), true
	}
	data, err := procfs.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return "", false
	}
	groups, err := procfs.ParseCgroup(data)
	if path, ok := groups.Controller("cpuset"); ok || err != nil {
		return path, ok
	}
	return groups.Unified()
}

// cpusetMounts lists where /proc/mounts has hierarchies that may hold cpusets.
func cpusetMounts(mounts []byte) []string {
	var out []string
	for line := range bytes.Lines(mounts) {
		f := strings.Fields(string(line))
		if len(f) < 4 {
			continue
		}
		switch kind, options := f[2], ","+f[3]+","; {
		case kind == "cgroup2", kind == "cpuset", kind == "cgroup" && strings.Contains(options, ",cpuset,"):
			out = append(out, f[1])
		}
	}
	return out
}

// limitBy looks for the group, or the nearest one above it that has the cpuset
// controller, and takes its limits.
func (t *Topology) limitBy(root string, mounts []string, group string) bool {
	for _, mount := range mounts {
		for at := filepath.Clean("/" + group); ; at = filepath.Dir(at) {
			if t.limit(filepath.Join(root, filepath.Clean("/"+mount), at)) {
				return true
			}
			if at == "/" {
				break
			}
		}
	}
	return false
}

func (t *Topology) limit(path string) bool {
	d := dir(path)
	for _, names := range limitNames {
		cpus, ok := d.list(names.cpus)
		if cpus = cpus.And(t.Online); !ok || cpus.Empty() {
			continue
		}
		t.Allowed = cpus
		if mems, ok := d.list(names.mems); ok && !mems.Empty() {
			for i := range t.Nodes {
				t.Nodes[i].Allowed = mems.Has(cpuset.CPU(t.Nodes[i].ID))
			}
		}
		return true
	}
	return false
}

// Usable returns the machine as the process that read it may use it, which is
// also what hwloc shows: online CPUs and nodes of its cpuset alone, and their
// caches, cores and packages cut down to them.
func (t *Topology) Usable() *Topology {
	out := Topology{NohzFull: t.NohzFull.And(t.Allowed), Allowed: t.Allowed}
	kept := map[NodeID]bool{-1: true}
	for _, n := range t.Nodes {
		if n.Allowed {
			kept[n.ID] = true
			n.CPUs = n.CPUs.And(t.Allowed)
			out.Nodes = append(out.Nodes, n)
		}
	}
	for _, c := range t.CPUs {
		if !t.Allowed.Has(c.ID) {
			continue
		}
		for _, level := range []*cpuset.Set{&c.Core, &c.LLC, &c.Die, &c.Package} {
			*level = level.And(t.Allowed)
		}
		if !kept[c.Node] {
			c.Node = -1
		}
		out.CPUs = append(out.CPUs, c)
	}
	for _, c := range t.Caches {
		if c.CPUs = c.CPUs.And(t.Allowed); !c.CPUs.Empty() {
			out.Caches = append(out.Caches, c)
		}
	}
	return New(out)
}
