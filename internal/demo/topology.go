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
	llcOf := func(cpu int) int { return cpu % cores * llcs / cores }
	inCore, inLLC := make([]cpuset.Builder, cores), make([]cpuset.Builder, llcs)
	for id := range cpus {
		inCore[id%cores].Add(cpuset.CPU(id))
		inLLC[llcOf(id)].Add(cpuset.CPU(id))
	}
	var all []topology.CPU
	for id := range cpus {
		all = append(all, topology.CPU{ID: cpuset.CPU(id), Online: true, Node: topology.NodeID(llcOf(id) * nodes / llcs),
			Core: inCore[id%cores].Set(), LLC: inLLC[llcOf(id)].Set()})
	}
	return topology.Describe(all, memoryBytes(cpus)/int64(nodes), 12)
}

// memoryBytes is 4 GB a CPU.
func memoryBytes(cpus int) int64 { return int64(cpus) * 4 << 30 }
