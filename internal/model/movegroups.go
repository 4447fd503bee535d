package model

import (
	"piton/internal/cpuset"
	"piton/internal/topology"
)

// MoveLevel is what a row or column of a MoveTable stands for.
type MoveLevel uint8

// The levels, finest first.
const (
	ByCPU MoveLevel = iota
	ByLLC
	ByNode
)

// String is "CPU", "LLC" or "node".
func (l MoveLevel) String() string { return [...]string{"CPU", "LLC", "node"}[l] }

// MostMoveGroups bounds the groups of a table, whose counts take 4 bytes a pair.
const MostMoveGroups = 1024

// MoveGroup is a CPU, the CPUs of a last-level cache on one node, or a node.
type MoveGroup struct {
	CPU  cpuset.CPU // the first one
	LLC  int        // CPU.LLCIndex; -1 where it is not known, or by node
	Node topology.NodeID
	CPUs cpuset.Set
}

// MoveGroups are the online CPUs of a machine at one level, in the order of
// topology.Groups, so that neighbours share what they can. It is immutable.
type MoveGroups struct {
	Level    MoveLevel
	Groups   []MoveGroup
	Topology *topology.Topology

	at []int32 // the group of each CPU, by its number; -1 for none
}

// NewMoveGroups divides a machine's online CPUs. A machine with more than
// MostMoveGroups of them at that level is divided at the next coarser one.
func NewMoveGroups(t *topology.Topology, level MoveLevel) *MoveGroups {
	g := &MoveGroups{Level: level, Topology: t}
	for _, n := range t.Groups() {
		if level == ByNode {
			g.add(n.CPUs, -1, n.Node)
			continue
		}
		for _, l := range n.LLCs {
			if level == ByLLC {
				g.add(l.CPUs, l.Index, n.Node)
				continue
			}
			for _, core := range l.Cores {
				for _, id := range core.CPUs {
					g.add(cpuset.Of(id), l.Index, n.Node)
				}
			}
		}
	}
	if len(g.Groups) > MostMoveGroups && level < ByNode {
		return NewMoveGroups(t, level+1)
	}
	return g
}

func (g *MoveGroups) add(cpus cpuset.Set, llc int, node topology.NodeID) {
	if cpus = cpus.And(g.Topology.Online); cpus.Empty() {
		return
	}
	for id := range cpus.All() {
		for int(id) >= len(g.at) {
			g.at = append(g.at, -1)
		}
		g.at[id] = int32(len(g.Groups))
	}
	g.Groups = append(g.Groups, MoveGroup{CPU: cpus.First(), LLC: llc, Node: node, CPUs: cpus})
}

// Index is the group that holds a CPU, -1 for none.
func (g *MoveGroups) Index(cpu cpuset.CPU) int {
	if cpu < 0 || int(cpu) >= len(g.at) {
		return -1
	}
	return int(g.at[cpu])
}

// Apart is the distance between two different groups.
func (g *MoveGroups) Apart(i, j int) topology.Distance {
	return g.Topology.Distance(g.Groups[i].CPU, g.Groups[j].CPU)
}

// Possible are the distances that moves on this machine can have, nearest first.
func (g *MoveGroups) Possible() []topology.Distance {
	var have [topology.OtherNode + 1]bool
	t := g.Topology
	for i := range t.CPUs {
		c := &t.CPUs[i]
		if !c.Online {
			continue
		}
		node, _ := t.Node(c.Node)
		have[topology.SMTSibling] = have[topology.SMTSibling] || c.Core.Len() > 1
		have[topology.SameLLC] = have[topology.SameLLC] || c.LLC.Len() > c.Core.Len()
		have[topology.SameNode] = have[topology.SameNode] || !node.CPUs.SubsetOf(c.LLC.Or(c.Core))
		have[topology.OtherNode] = have[topology.OtherNode] || !t.Online.SubsetOf(node.CPUs)
	}
	var out []topology.Distance
	for class := topology.SMTSibling; class <= topology.OtherNode; class++ {
		if have[class] {
			out = append(out, class)
		}
	}
	return out
}
