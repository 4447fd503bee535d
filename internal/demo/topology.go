package demo

import (
	"piton/internal/cpuset"
	"piton/internal/topology"
)

// newTopology makes a machine with any number of CPUs: from 8 on two threads a core
// where the number is even, 8 cores a last-level cache, and up to 8 nodes. CPUs are
// numbered as on x86: first one thread of every core, then the second ones.
func newTopology(cpus int) *topology.Topology {
	threads := 1
	if cpus >= 8 && cpus%2 == 0 {
		threads = 2
	}
	cores := cpus / threads
	llcs := (cores + 7) / 8
	if cpus >= 8 { // two of them, so that moves between caches can be seen
		llcs = max(llcs, 2)
	}
	nodes := 1
	for nodes < 8 && cpus >= 16*nodes && llcs >= 2*nodes {
		nodes *= 2
	}
	llcOf := func(core int) int { return core * llcs / cores }
	nodeOf := func(core int) int { return llcOf(core) * nodes / llcs }
	inCore, inLLC, inNode := make([]cpuset.Builder, cores), make([]cpuset.Builder, llcs), make([]cpuset.Builder, nodes)
	for id := range cpus {
		core := id % cores
		inCore[core].Add(cpuset.CPU(id))
		inLLC[llcOf(core)].Add(cpuset.CPU(id))
		inNode[nodeOf(core)].Add(cpuset.CPU(id))
	}
	var t topology.Topology
	for id := range cpus {
		core := id % cores
		node := inNode[nodeOf(core)].Set()
		t.CPUs = append(t.CPUs, topology.CPU{ID: cpuset.CPU(id), Online: true, Node: topology.NodeID(nodeOf(core)),
			Core: inCore[core].Set(), LLC: inLLC[llcOf(core)].Set(), Die: node, Package: node})
	}
	for n := range nodes {
		t.Nodes = append(t.Nodes, topology.Node{ID: topology.NodeID(n), CPUs: inNode[n].Set(), MemoryBytes: memoryBytes(cpus) / int64(nodes),
			Distances: distances(n, nodes), Allowed: true})
	}
	for i := range inCore {
		for _, kind := range []string{"Data", "Instruction"} {
			t.Caches = append(t.Caches, topology.Cache{Level: 1, Type: kind, SizeBytes: 32 << 10, CPUs: inCore[i].Set()})
		}
		t.Caches = append(t.Caches, topology.Cache{Level: 2, Type: "Unified", SizeBytes: 1 << 20, CPUs: inCore[i].Set()})
	}
	for i := range inLLC {
		t.Caches = append(t.Caches, topology.Cache{Level: 3, Type: "Unified", SizeBytes: 32 << 20, CPUs: inLLC[i].Set()})
	}
	return topology.New(t)
}

// memoryBytes is 4 GB a CPU.
func memoryBytes(cpus int) int64 { return int64(cpus) * 4 << 30 }

// distances are 10 to itself, 12 to the other node of a pair, else 32.
func distances(from, nodes int) map[topology.NodeID]int {
	out := map[topology.NodeID]int{}
	for to := range nodes {
		switch {
		case to == from:
			out[topology.NodeID(to)] = 10
		case to/2 == from/2:
			out[topology.NodeID(to)] = 12
		default:
			out[topology.NodeID(to)] = 32
		}
	}
	return out
}
