package widget

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// bounceLane is one line of a bounce chart: a CPU, a cache, a node, or the rest.
type bounceLane struct {
	label string
	cpus  cpuset.Set
}

// labelWidth is that of the longest label on a machine, so that the chart stays
// where it is whatever the task visits.
func labelWidth(t *topology.Topology) int {
	width := len(fmt.Sprintf("cpu %d", max(t.Present.Last(), 99)))
	if n := len(t.LLCs()); n > 1 {
		width += len(fmt.Sprintf("LLC %d ", n-1))
	}
	return width
}

// lanes are the finest ones that fit in n lines: all CPUs, those visited, their
// caches, their nodes, else the CPUs visited most.
func (c *bounceChart) lanes(n int) []bounceLane {
	count := map[cpuset.CPU]int{}
	for i := range len(c.Steps) + 1 {
		count[c.cpu(i)]++
	}
	var visited cpuset.Builder
	for id := range count {
		visited.Add(id)
	}
	for _, lanes := range [][]bounceLane{c.cpuLanes(c.Topology.Online.Or(visited.Set())), c.cpuLanes(visited.Set()),
		c.cacheLanes(visited.Set()), c.nodeLanes(visited.Set())} {
		if len(lanes) > 0 && len(lanes) <= n {
			return lanes
		}
	}
	return c.busiest(count, n)
}

// ordered lists CPUs by node, cache and core; those the machine does not have last.
func (c *bounceChart) ordered(set cpuset.Set) []cpuset.CPU {
	var out []cpuset.CPU
	for _, id := range c.Topology.Order() {
		if set.Has(id) {
			out = append(out, id)
		}
	}
	return append(out, set.AndNot(c.Topology.Present).CPUs()...)
}

// cpuLanes name the cache at the first of its CPUs, where there are several.
func (c *bounceChart) cpuLanes(set cpuset.Set) []bounceLane {
	var out []bounceLane
	before := -1
	for _, id := range c.ordered(set) {
		label := fmt.Sprintf("cpu %d", id)
		at, ok := c.Topology.CPU(id)
		if ok && at.LLCIndex != before && at.LLCIndex >= 0 && len(c.Topology.LLCs()) > 1 {
			label = fmt.Sprintf("LLC %d %s", at.LLCIndex, label)
		}
		before = at.LLCIndex
		out = append(out, bounceLane{label, cpuset.Of(id)})
	}
	return out
}

// cacheLanes is nil when some CPU's cache is not known, or all share one.
func (c *bounceChart) cacheLanes(set cpuset.Set) []bounceLane {
	var out []bounceLane
	for _, id := range c.ordered(set) {
		at, ok := c.Topology.CPU(id)
		if !ok || at.LLCIndex < 0 {
			return nil
		}
		label := fmt.Sprintf("LLC %d", at.LLCIndex)
		if !slices.ContainsFunc(out, func(l bounceLane) bool { return l.label == label }) {
			out = append(out, bounceLane{label, at.LLC})
		}
	}
	return several(out)
}

// nodeLanes is nil when some CPU is on no node, or all are on one.
func (c *bounceChart) nodeLanes(set cpuset.Set) []bounceLane {
	var out []bounceLane
	for _, id := range c.ordered(set) {
		at, ok := c.Topology.CPU(id)
		node, known := c.Topology.Node(at.Node)
		if !ok || !known {
			return nil
		}
		label := fmt.Sprintf("node %d", node.ID)
		if !slices.ContainsFunc(out, func(l bounceLane) bool { return l.label == label }) {
			out = append(out, bounceLane{label, node.CPUs})
		}
	}
	return several(out)
}

func several(lanes []bounceLane) []bounceLane {
	if len(lanes) < 2 {
		return nil
	}
	return lanes
}

// busiest has a lane for each of the CPUs visited most, and one for the others.
func (c *bounceChart) busiest(count map[cpuset.CPU]int, n int) []bounceLane {
	var all []cpuset.CPU
	for id := range count {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b cpuset.CPU) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	top := max(n-1, 0)
	return append(c.cpuLanes(cpuset.Of(all[:top]...)), bounceLane{"others", cpuset.Of(all[top:]...)})
}
