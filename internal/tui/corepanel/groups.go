package corepanel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// group is the online CPUs that share a node and a last-level cache.
type group struct {
	label string         // "node 0 · L3 0"
	cpus  []topology.CPU // by core, so that SMT siblings are adjacent
	sets  []cpuset.Set   // of each of cpus alone
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

	layout layout // of laid
	laid   [][]place
}

type groupKey struct {
	node topology.NodeID
	llc  int
}

// groupCPUs sorts a machine's CPUs into groups. Where caches divide it into
// groups of hardly more than one CPU (virtual machines often claim a cache for
// every CPU) the node alone is the group.
func groupCPUs(t *topology.Topology) *grouping {
	g := &grouping{digits: 1}
	byLLC := !scattered(t)
	members := map[groupKey][]topology.CPU{}
	var keys []groupKey
	for _, c := range t.CPUs {
		g.digits = max(g.digits, len(fmt.Sprint(int(c.ID))))
		if !c.Online {
			g.offline = g.offline.Or(cpuset.Of(c.ID))
			continue
		}
		g.online++
		g.smt = g.smt || c.Core.Len() > 1
		g.kinds = g.kinds || c.Isolated || c.Kind != topology.KindUniform
		key := groupKey{node: c.Node, llc: -1}
		if byLLC {
			key.llc = c.LLCIndex
		}
		if _, seen := members[key]; !seen {
			keys = append(keys, key)
		}
		members[key] = append(members[key], c)
	}
	slices.SortFunc(keys, func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.llc, b.llc))
	})
	for _, key := range keys {
		g.groups = append(g.groups, makeGroup(t, key, members[key]))
	}
	return g
}

func makeGroup(t *topology.Topology, key groupKey, cpus []topology.CPU) group {
	slices.SortStableFunc(cpus, func(a, b topology.CPU) int { return cmp.Compare(a.Core.First(), b.Core.First()) })
	ids, sets := make([]cpuset.CPU, len(cpus)), make([]cpuset.Set, len(cpus))
	for i, c := range cpus {
		ids[i], sets[i] = c.ID, cpuset.Of(c.ID)
	}
	return group{cpus: cpus, sets: sets, set: cpuset.Of(ids...), label: groupLabel(t, key, cpus[0])}
}

// scattered reports whether the last-level caches say nothing about which CPUs
// belong together.
func scattered(t *topology.Topology) bool {
	online, caches := 0, map[int]bool{}
	for _, c := range t.CPUs {
		if c.Online {
			online++
			caches[c.LLCIndex] = true
		}
	}
	return online > 1 && len(caches) > online/2
}

// groupLabel names a group by what sets it apart.
func groupLabel(t *topology.Topology, key groupKey, first topology.CPU) string {
	var parts []string
	if packages(t) > 1 && len(t.Nodes) < 2 && first.PackageIndex >= 0 {
		parts = append(parts, fmt.Sprintf("package %d", first.PackageIndex))
	}
	if key.node >= 0 {
		parts = append(parts, fmt.Sprintf("node %d", key.node))
	}
	if c, ok := lastCache(t, first.LLC); ok && key.llc >= 0 {
		parts = append(parts, fmt.Sprintf("L%d %d", c.Level, key.llc))
	}
	if len(parts) == 0 {
		return "CPUs"
	}
	return strings.Join(parts, " · ")
}

// lastCache is the cache of the highest level that exactly these CPUs share.
func lastCache(t *topology.Topology, cpus cpuset.Set) (last topology.Cache, ok bool) {
	for _, c := range t.Caches {
		if c.Level > max(last.Level, 1) && c.CPUs.Equal(cpus) {
			last, ok = c, true
		}
	}
	return last, ok
}

func packages(t *topology.Topology) int {
	n := 0
	for _, c := range t.CPUs {
		n = max(n, c.PackageIndex+1)
	}
	return n
}

// label is a group's name in the theme's glyphs.
func (r *renderer) label(g *group) string { return strings.ReplaceAll(g.label, "·", r.Theme.Dot) }
