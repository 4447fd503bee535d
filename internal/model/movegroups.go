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

	positions []position // by CPU number
}

// position is where a CPU is; -1 for what it has none of.
type position struct{ cpu, core, llc, node, group int32 }

// nowhere is the position of a CPU that the machine does not have.
var nowhere = position{-1, -1, -1, -2, -1}

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
	g.locate()
	return g
}

func (g *MoveGroups) add(cpus cpuset.Set, llc int, node topology.NodeID) {
	if cpus = cpus.And(g.Topology.Online); !cpus.Empty() {
		g.Groups = append(g.Groups, MoveGroup{CPU: cpus.First(), LLC: llc, Node: node, CPUs: cpus})
	}
}

// locate notes where each CPU is, so that classifying a move looks nothing up.
func (g *MoveGroups) locate() {
	for i := range g.Topology.CPUs {
		c := &g.Topology.CPUs[i]
		for int(c.ID) >= len(g.positions) {
			g.positions = append(g.positions, nowhere)
		}
		g.positions[c.ID] = position{int32(c.ID), int32(c.CoreIndex), int32(c.LLCIndex), int32(c.Node), -1}
	}
	for i := range g.Groups {
		for id := range g.Groups[i].CPUs.All() {
			g.positions[id].group = int32(i)
		}
	}
}

func (g *MoveGroups) at(cpu uint16) *position {
	if int(cpu) >= len(g.positions) {
		return &nowhere
	}
	return &g.positions[cpu]
}

// between is topology.Distance of two positions.
func between(a, b *position) topology.Distance {
	switch {
	case a.cpu < 0 || b.cpu < 0:
		return topology.OtherNode
	case a.cpu == b.cpu:
		return topology.SameCPU
	case a.core >= 0 && a.core == b.core:
		return topology.SMTSibling
	case a.llc >= 0 && a.llc == b.llc:
		return topology.SameLLC
	case a.node == b.node:
		return topology.SameNode
	}
	return topology.OtherNode
}

// Index is the group that holds a CPU, -1 for none.
func (g *MoveGroups) Index(cpu cpuset.CPU) int {
	if cpu < 0 || int(cpu) >= len(g.positions) {
		return -1
	}
	return int(g.positions[cpu].group)
}

// Apart is the distance between two different groups.
func (g *MoveGroups) Apart(i, j int) topology.Distance {
	return between(&g.positions[g.Groups[i].CPU], &g.positions[g.Groups[j].CPU])
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
