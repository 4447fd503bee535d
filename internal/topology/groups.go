package topology

import (
	"fmt"

	"piton/internal/cpuset"
)

// NodeGroup is a node as screens lay it out: its CPUs by last-level cache and
// core. Node is -1 for CPUs that are on no node, offline ones above all; that
// group comes last.
type NodeGroup struct {
	Node NodeID
	CPUs cpuset.Set
	LLCs []LLCGroup
}

// LLCGroup is the part of a last-level cache's CPUs that is on one node (a
// cache may span nodes, and then appears in each). Index is -1 for CPUs whose
// caches are not known.
type LLCGroup struct {
	Index int // CPU.LLCIndex
	CPUs  cpuset.Set
	Cores []CoreGroup
}

// CoreGroup is a core with its SMT siblings in rising order.
type CoreGroup struct {
	Index int // CPU.CoreIndex, -1 for an offline CPU
	CPUs  []cpuset.CPU
}

// Groups returns every present CPU once, by node, LLC and core in display
// order: nodes by number, LLCs and cores by their first CPU. The tree is
// shared: do not write to it.
func (t *Topology) Groups() []NodeGroup { return t.groups }

// Order returns every present CPU in the order of Groups, so that SMT siblings,
// and CPUs that share a cache, are neighbours. The slice is shared.
func (t *Topology) Order() []cpuset.CPU { return t.order }

func (t *Topology) group() []NodeGroup {
	var out []NodeGroup
	for _, n := range t.Nodes {
		if g := t.nodeGroup(n.ID); !g.CPUs.Empty() {
			out = append(out, g)
		}
	}
	if g := t.nodeGroup(-1); !g.CPUs.Empty() {
		out = append(out, g)
	}
	return out
}

func (t *Topology) nodeGroup(node NodeID) NodeGroup {
	g := NodeGroup{Node: node}
	at := map[int]int{} // position in g.LLCs by LLCIndex
	var all cpuset.Builder
	for i := range t.CPUs {
		c := &t.CPUs[i]
		if c.Node != node {
			continue
		}
		all.Add(c.ID)
		pos, ok := at[c.LLCIndex]
		if !ok {
			pos = len(g.LLCs)
			at[c.LLCIndex] = pos
			g.LLCs = append(g.LLCs, LLCGroup{Index: c.LLCIndex})
		}
		g.LLCs[pos].add(c)
	}
	g.CPUs = all.Set()
	return g
}

func (g *LLCGroup) add(c *CPU) {
	g.CPUs = g.CPUs.Or(cpuset.Of(c.ID))
	for i := range g.Cores {
		if c.CoreIndex >= 0 && g.Cores[i].Index == c.CoreIndex {
			g.Cores[i].CPUs = append(g.Cores[i].CPUs, c.ID)
			return
		}
	}
	g.Cores = append(g.Cores, CoreGroup{Index: c.CoreIndex, CPUs: []cpuset.CPU{c.ID}})
}

func displayOrder(groups []NodeGroup) []cpuset.CPU {
	var out []cpuset.CPU
	for _, n := range groups {
		for _, l := range n.LLCs {
			for _, c := range l.Cores {
				out = append(out, c.CPUs...)
			}
		}
	}
	return out
}

// CacheName is "L3 1": the cache of the highest level that exactly the CPUs of c's LLC
// share; "" where there is none.
func (t *Topology) CacheName(c *CPU) (name string) {
	level := 0
	for _, cache := range t.Caches {
		if cache.Level > level && cache.CPUs.Equal(c.LLC) {
			level = cache.Level
			name = fmt.Sprintf("L%d %d", level, c.LLCIndex)
		}
	}
	return name
}
