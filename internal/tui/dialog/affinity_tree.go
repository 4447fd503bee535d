package dialog

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// branch is a row of the affinity tree: a group of CPUs, or one CPU.
type branch struct {
	depth  int
	label  string
	cpus   cpuset.Set
	leaf   cpuset.CPU // -1 for a group
	folded bool
}

// unfoldedRows is how many rows a tree may show at the beginning; more of them
// are folded away level by level.
const unfoldedRows = 40

// newTree lists node, LLC, core and CPU in display order. Levels that group
// nothing are left out: a single node, a node's single LLC, cores of one CPU.
func newTree(t *topology.Topology) []branch {
	var tree []branch
	groups := t.Groups()
	for _, n := range groups {
		depth := 0
		if len(groups) > 1 {
			label := fmt.Sprintf("node %d", n.Node)
			if n.Node < 0 {
				label = "on no node"
			}
			if len(n.LLCs) == 1 && n.LLCs[0].Index >= 0 {
				label += " " + llcName(t, n.LLCs[0])
			}
			tree = append(tree, branch{label: label, cpus: n.CPUs, leaf: -1})
			depth++
		}
		for _, l := range n.LLCs {
			tree = addLLC(tree, t, l, depth, len(n.LLCs) > 1)
		}
	}
	fold(tree)
	return tree
}

func addLLC(tree []branch, t *topology.Topology, l topology.LLCGroup, depth int, show bool) []branch {
	if show {
		label := llcName(t, l)
		if l.Index < 0 {
			label = "no cache known"
		}
		tree = append(tree, branch{depth: depth, label: label, cpus: l.CPUs, leaf: -1})
		depth++
	}
	for _, c := range l.Cores {
		under := depth
		if len(c.CPUs) > 1 {
			label := fmt.Sprintf("core %d", c.Index)
			tree = append(tree, branch{depth: depth, label: label, cpus: cpuset.Of(c.CPUs...), leaf: -1})
			under++
		}
		for _, cpu := range c.CPUs {
			tree = append(tree, branch{depth: under, label: fmt.Sprintf("cpu %d", cpu), cpus: cpuset.Of(cpu), leaf: cpu})
		}
	}
	return tree
}

func llcName(t *topology.Topology, l topology.LLCGroup) string {
	c, _ := t.CPU(l.CPUs.First())
	return t.CacheName(&c)
}

// fold closes the deepest groups first until the tree is short enough, and the
// outermost ones in any case last.
func fold(tree []branch) {
	for depth := 3; depth >= 0 && len(visible(tree)) > unfoldedRows; depth-- {
		for i := range tree {
			if tree[i].leaf < 0 && tree[i].depth == depth {
				tree[i].folded = true
			}
		}
	}
}

func visible(tree []branch) []int {
	var out []int
	hidden := -1 // depth of the fold we are in
	for i, b := range tree {
		if hidden >= 0 && b.depth > hidden {
			continue
		}
		hidden = -1
		out = append(out, i)
		if b.folded {
			hidden = b.depth
		}
	}
	return out
}
