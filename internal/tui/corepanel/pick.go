package corepanel

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/tui/theme"
)

// Pick is CPUs being chosen in the panel. It is not changed once it was
// rendered: a new choice is a new Pick.
type Pick struct {
	At     cpuset.Set // under the cursor: a CPU, or the CPUs of a core, cache or node
	Ticked cpuset.Set
}

// Region is CPUs that go by one name.
type Region struct {
	Name string // "cpu 5", "core 5,13", "L3 1", "node 0", "all CPUs"
	CPUs cpuset.Set
}

// Regions are the online CPUs around one, from itself to the whole machine.
// What is no wider than the one before is left out, as an L3 that serves a
// single core.
func Regions(t *topology.Topology, id cpuset.CPU) []Region {
	c, ok := t.CPU(id)
	if !ok {
		return nil
	}
	out := []Region{{fmt.Sprintf("cpu %d", id), cpuset.Of(id)}}
	add := func(name string, cpus cpuset.Set) {
		if cpus = cpus.And(t.Online); cpus.Len() > out[len(out)-1].CPUs.Len() {
			out = append(out, Region{name, cpus})
		}
	}
	add("core "+c.Core.And(t.Online).String(), c.Core)
	add(t.CacheName(&c), c.LLC)
	if n, ok := t.Node(c.Node); ok {
		add(fmt.Sprintf("node %d", n.ID), n.CPUs)
	}
	add("all CPUs", t.Online)
	return out
}

// at reports whether the cursor covers all of some CPUs.
func (r *renderer) at(cpus cpuset.Set) bool {
	return r.Pick != nil && !cpus.Empty() && cpus.SubsetOf(r.Pick.At)
}

// on reports whether the cursor covers a CPU.
func (r *renderer) on(id cpuset.CPU) bool { return r.Pick != nil && r.Pick.At.Has(id) }

func (r *renderer) ticked(id cpuset.CPU) bool { return r.Pick != nil && r.Pick.Ticked.Has(id) }

// picked is how a cell of the grid looks when its CPU is ticked or under the
// cursor.
func (r *renderer) picked(id cpuset.CPU, style theme.Style, glyph string) (theme.Style, string) {
	at, ticked := r.on(id), r.ticked(id)
	if ticked {
		style, glyph = r.Theme.Tagged, r.Theme.Tag
	}
	switch {
	case at && ticked:
		style = r.Theme.Both
	case at:
		style = r.Theme.Selected
	}
	if full := r.Theme.Spark[7]; at && glyph == full {
		glyph = r.Theme.Spark[6] // in reverse a full cell looks like an empty one
	}
	return style, glyph
}
