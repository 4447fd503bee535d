package sample

import (
	"path/filepath"

	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/procfs"
)

// Groups reads which task group tasks are in, for one choice of CPUs: an
// autogroup or a cgroup with the cpu controller. That takes two files for each
// task, so no sample has it. Groups that cannot be read count as the root group.
type Groups struct {
	fs      procfs.FS
	auto    bool // autogroup is on
	mount   procfs.CgroupMount
	mounted bool // with the cpu controller
	known   map[string]*place.Group
}

// NewGroups reads what holds for all tasks.
func NewGroups(fs procfs.FS) *Groups {
	g := &Groups{fs: fs, known: map[string]*place.Group{}}
	on, err := fs.Sysctl("kernel/sched_autogroup_enabled")
	g.auto = err == nil && on != 0
	g.mount, err = fs.CgroupMount("cpu")
	g.mounted = err == nil
	return g
}

// Of returns the group of a task, nil for the root group. A cgroup goes before an
// autogroup (task_wants_autogroup, kernel/sched/autogroup.c).
func (g *Groups) Of(t *Task) *place.Group {
	if t.IsKernel() {
		return nil
	}
	if in := g.cgroup(t); in != nil || !g.auto {
		return in
	}
	name, nice, err := g.fs.Autogroup(t.TGID)
	if err != nil || name == "" {
		return nil
	}
	return g.named(name, nil, place.Weight(0, nice))
}

func (g *Groups) named(name string, parent *place.Group, weight float64) *place.Group {
	in, ok := g.known[name]
	if !ok {
		in = &place.Group{Parent: parent, Weight: weight}
		g.known[name] = in
	}
	return in
}

func (g *Groups) cgroup(t *Task) *place.Group {
	if !g.mounted {
		return nil
	}
	all, err := g.fs.ThreadCgroup(t.TGID, t.thread())
	if err != nil {
		return nil
	}
	path := all.CPU()
	if path == "" {
		return nil
	}
	return g.at(filepath.Clean(path))
}

// at returns the group of a cgroup. One without the controller has no file for
// its weight: its tasks compete in the group above it (cgroup-v2.rst). So it is
// with the root group of version 2; version 1 has the file there as well.
func (g *Groups) at(path string) *place.Group {
	if !g.mount.Has(path) || path == "/" && !g.mount.Unified {
		return nil
	}
	name := "cgroup " + path
	if in, ok := g.known[name]; ok {
		return in
	}
	var parent *place.Group
	if path != "/" {
		parent = g.at(filepath.Dir(path))
	}
	file, weigh := "cpu.shares", func(n int) float64 { return float64(n) }
	if g.mount.Unified {
		file, weigh = "cpu.weight", place.UnifiedWeight
	}
	n, err := g.mount.Number(path, file)
	if err != nil {
		g.known[name] = parent
		return parent
	}
	weight := weigh(n)
	// What cpu.weight reads then depends on the kernel: 0 on 6.1, 1 on 6.12 and later.
	if idle, err := g.mount.Number(path, "cpu.idle"); err == nil && idle != 0 {
		weight = place.Weight(kernel.Idle, 0)
	}
	return g.named(name, parent, weight)
}
