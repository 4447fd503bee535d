package widget

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/group"
	"piton/internal/topology"
	"piton/internal/tui/theme"
)

// laneChart draws the CPUs that a task was on, one column each: a line for every
// CPU, or coarser.
type laneChart struct {
	path  []cpuset.CPU // by column
	topo  *topology.Topology
	th    *theme.Theme
	label int // cells before the columns
}

func (c *laneChart) draw(n int) []string { return group.Each(c.lanes(n), c.lane) }

func (c *laneChart) lane(l bounceLane) string {
	dst := AppendFit(nil, l.label, c.label, true, c.th.Ellipsis)
	dst = append(dst, ' ')
	for i := 0; i < len(c.path); {
		on, j := l.cpus.Has(c.path[i]), i
		for j < len(c.path) && l.cpus.Has(c.path[j]) == on {
			j++
		}
		style, glyph := c.th.Dim, c.th.Blank
		if on {
			style, glyph = c.th.Accent, c.th.Spark[len(c.th.Spark)-1]
		}
		dst = appendRun(dst, style, glyph, j-i)
		i = j
	}
	return string(dst)
}

// across counts the moves that left a last-level cache, in words.
func (c *laneChart) across() string {
	far := 0
	for i := 1; i < len(c.path); i++ {
		if c.topo.Distance(c.path[i-1], c.path[i]) > topology.SameLLC {
			far++
		}
	}
	if far == 0 {
		return ""
	}
	return fmt.Sprintf(", %d across LLCs", far)
}

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
func (c *laneChart) lanes(n int) []bounceLane {
	count := map[cpuset.CPU]int{}
	for _, cpu := range c.path {
		count[cpu]++
	}
	var visited cpuset.Builder
	for id := range count {
		visited.Add(id)
	}
	for _, lanes := range [][]bounceLane{c.cpuLanes(c.topo.Online.Or(visited.Set())), c.cpuLanes(visited.Set()),
		c.partLanes(visited.Set(), c.cache), c.partLanes(visited.Set(), c.node)} {
		if len(lanes) > 0 && len(lanes) <= n {
			return lanes
		}
	}
	return c.busiest(count, n)
}

// ordered lists CPUs by node, cache and core; those the machine does not have last.
func (c *laneChart) ordered(set cpuset.Set) []cpuset.CPU {
	var out []cpuset.CPU
	for _, id := range c.topo.Order() {
		if set.Has(id) {
			out = append(out, id)
		}
	}
	return append(out, set.AndNot(c.topo.Present).CPUs()...)
}

// cpuLanes name the cache at the first of its CPUs, where there are several.
func (c *laneChart) cpuLanes(set cpuset.Set) []bounceLane {
	var out []bounceLane
	before := -1
	for _, id := range c.ordered(set) {
		label := fmt.Sprintf("cpu %d", id)
		at, ok := c.topo.CPU(id)
		if ok && at.LLCIndex != before && at.LLCIndex >= 0 && len(c.topo.LLCs()) > 1 {
			label = fmt.Sprintf("LLC %d %s", at.LLCIndex, label)
		}
		before = at.LLCIndex
		out = append(out, bounceLane{label, cpuset.Of(id)})
	}
	return out
}

// cache and node name what a CPU is part of; an empty set where that is not known.
func (c *laneChart) cache(at topology.CPU) (string, cpuset.Set) {
	if at.LLCIndex < 0 {
		return "", cpuset.Set{}
	}
	return fmt.Sprintf("LLC %d", at.LLCIndex), at.LLC
}

func (c *laneChart) node(at topology.CPU) (string, cpuset.Set) {
	node, _ := c.topo.Node(at.Node)
	return fmt.Sprintf("node %d", node.ID), node.CPUs
}

// partLanes are the caches or nodes of some CPUs; nil when one of them is not known, or
// all are in one.
func (c *laneChart) partLanes(set cpuset.Set, of func(topology.CPU) (string, cpuset.Set)) []bounceLane {
	var out []bounceLane
	for _, id := range c.ordered(set) {
		at, ok := c.topo.CPU(id)
		label, cpus := of(at)
		if !ok || cpus.Empty() {
			return nil
		}
		if !slices.ContainsFunc(out, func(l bounceLane) bool { return l.label == label }) {
			out = append(out, bounceLane{label, cpus})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// busiest has a lane for each of the CPUs visited most, and one for the others.
func (c *laneChart) busiest(count map[cpuset.CPU]int, n int) []bounceLane {
	var all []cpuset.CPU
	for id := range count {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b cpuset.CPU) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	top := max(n-1, 0)
	return append(c.cpuLanes(cpuset.Of(all[:top]...)), bounceLane{"others", cpuset.Of(all[top:]...)})
}
