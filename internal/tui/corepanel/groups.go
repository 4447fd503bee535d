package corepanel

import (
	"fmt"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/topology"
)

// group is the online CPUs that share a node and a last-level cache.
type group struct {
	label string          // "node 0 · L3 0"
	cpus  []*topology.CPU // in display order, so that SMT siblings are adjacent
	set   cpuset.Set
}

// grouping is how a machine's CPUs are laid out, computed once per topology.
type grouping struct {
	groups  []group
	offline cpuset.Set
	online  int
	digits  int  // of the largest CPU number
	smt     bool // some core has two CPUs
	kinds   bool // some CPU is marked as P, E or isolated
}

// groupCPUs sorts a machine's CPUs into groups: those of a last-level cache, or of a node
// where caches divide nothing.
func groupCPUs(t *topology.Topology) *grouping {
	level := model.ByLLC
	if t.Scattered() {
		level = model.ByNode
	}
	parts := model.NewMoveGroups(t, level)
	g := &grouping{groups: make([]group, len(parts.Groups)), offline: t.Present.AndNot(t.Online), online: t.Online.Len(),
		digits: len(fmt.Sprint(max(t.Present.Last(), 0)))}
	for _, id := range t.Order() {
		c, _ := t.CPU(id)
		if i := parts.Index(id); i >= 0 {
			g.groups[i].cpus = append(g.groups[i].cpus, &c)
			g.smt = g.smt || c.Core.Len() > 1
			g.kinds = g.kinds || c.Isolated || c.Kind != topology.KindUniform
		}
	}
	for i, of := range parts.Groups {
		g.groups[i].set, g.groups[i].label = of.CPUs, groupLabel(t, of, g.groups[i].cpus[0])
	}
	return g
}

func groupLabel(t *topology.Topology, of model.MoveGroup, first *topology.CPU) string {
	var parts []string
	if len(t.Packages()) > 1 && len(t.Nodes) < 2 && first.PackageIndex >= 0 {
		parts = append(parts, fmt.Sprintf("package %d", first.PackageIndex))
	}
	if of.Node >= 0 {
		parts = append(parts, fmt.Sprintf("node %d", of.Node))
	}
	if cache := t.CacheName(first); cache != "" && of.LLC >= 0 {
		parts = append(parts, cache)
	}
	if len(parts) == 0 {
		return "CPUs"
	}
	return strings.Join(parts, " · ")
}

// label is a group's name in the theme's glyphs.
func (r *renderer) label(g *group) string { return strings.ReplaceAll(g.label, "·", r.Theme.Dot) }
