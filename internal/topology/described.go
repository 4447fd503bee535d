package topology

import (
	"slices"

	"piton/internal/cpuset"
)

// Describe makes up a machine: CPUs that say of which core, last-level cache and node they are,
// nodes that are packages with memoryBytes each, and usual caches. From a node to the other one
// of its pair it is near, to the rest 32.
func Describe(cpus []CPU, memoryBytes int64, near int) *Topology {
	t := Topology{CPUs: cpus}
	at := func(id NodeID) int { return slices.IndexFunc(t.Nodes, func(n Node) bool { return n.ID == id }) }
	cache := func(level int, kind string, size int64, cpus cpuset.Set) {
		t.Caches = append(t.Caches, Cache{Level: level, Type: kind, SizeBytes: size, CPUs: cpus})
	}
	for _, c := range cpus {
		if !c.Online {
			continue
		}
		if at(c.Node) < 0 {
			t.Nodes = append(t.Nodes, Node{ID: c.Node, MemoryBytes: memoryBytes, Distances: map[NodeID]int{}, Allowed: true})
		}
		if c.Core.First() == c.ID {
			cache(1, "Data", 32<<10, c.Core)
			cache(1, "Instruction", 32<<10, c.Core)
			cache(2, "Unified", 1<<20, c.Core)
		}
		if c.LLC.First() == c.ID {
			cache(3, "Unified", 32<<20, c.LLC)
		}
		node := &t.Nodes[at(c.Node)]
		node.CPUs = node.CPUs.Or(cpuset.Of(c.ID))
	}
	for i := range cpus {
		if cpus[i].Online {
			cpus[i].Package = t.Nodes[at(cpus[i].Node)].CPUs
			cpus[i].Die = cpus[i].Package
		}
	}
	for from := range t.Nodes {
		for to := range t.Nodes {
			distance := 32
			switch {
			case to == from:
				distance = 10
			case to/2 == from/2:
				distance = near
			}
			t.Nodes[from].Distances[t.Nodes[to].ID] = distance
		}
	}
	return New(t)
}
