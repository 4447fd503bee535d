// Package topologytest makes machines for tests: topologies in memory by Spec,
// and the recorded host trees of testdata/hosts unpacked into a temporary
// directory. Only tests import it.
//
// Start at Synthetic, Sized and Host.
package topologytest

import (
	"fmt"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// Spec describes a regular machine. Counts of 0 mean 1.
type Spec struct {
	Nodes       int
	LLCsPerNode int
	CoresPerLLC int
	// Threads is the number of SMT siblings of a core. CPUs are numbered as on
	// x86: first one thread of every core, then the second ones.
	Threads int
	// NodeIDs numbers the nodes when they have gaps; else 0, 1, 2, …
	NodeIDs []topology.NodeID
	// ECores makes the last cores of each LLC efficiency cores with one thread;
	// Threads is then at most 2.
	ECores   int
	Offline  string // cpulist
	Isolated string // cpulist
	NohzFull string // cpulist
}

// Sized returns the machine that screens are tested on for a number of CPUs: 1,
// 2, 8 (4 cores of 2 threads), 64 (4 nodes of 2 LLCs) or 512 (8 nodes of 4 LLCs, 2
// threads a core).
func Sized(cpus int) *topology.Topology {
	spec, ok := map[int]Spec{
		1:   {},
		2:   {CoresPerLLC: 2},
		8:   {CoresPerLLC: 4, Threads: 2},
		64:  {Nodes: 4, LLCsPerNode: 2, CoresPerLLC: 8},
		512: {Nodes: 8, LLCsPerNode: 4, CoresPerLLC: 8, Threads: 2},
	}[cpus]
	if !ok {
		panic(fmt.Sprintf("topologytest: no machine of %d CPUs; use Synthetic", cpus))
	}
	return Synthetic(spec)
}

// Synthetic builds a machine in memory. Packages are the nodes. It panics on a
// Spec that cannot be built.
func Synthetic(spec Spec) *topology.Topology {
	s := spec.filled()
	offline, isolated := mustParse(s.Offline), mustParse(s.Isolated)
	var cpus []topology.CPU
	for n := range s.Nodes {
		for c := range s.CoresPerLLC * s.LLCsPerNode {
			core := s.core(n, c)
			for id := range core.All() {
				cpu := topology.CPU{ID: id, Node: -1}
				if !offline.Has(id) {
					cpu = topology.CPU{ID: id, Online: true, Isolated: isolated.Has(id), Kind: s.kind(c),
						Core: core.AndNot(offline), LLC: s.llc(n, c/s.CoresPerLLC).AndNot(offline), Node: s.node(n)}
				}
				cpus = append(cpus, cpu)
			}
		}
	}
	t := topology.Describe(cpus, 16<<30, 20)
	t.NohzFull = mustParse(s.NohzFull)
	return t
}

func (s Spec) filled() Spec {
	for _, n := range []*int{&s.Nodes, &s.LLCsPerNode, &s.CoresPerLLC, &s.Threads} {
		*n = max(*n, 1)
	}
	if len(s.NodeIDs) != 0 && len(s.NodeIDs) != s.Nodes {
		panic("topologytest: NodeIDs does not name every node")
	}
	return s
}

func (s Spec) node(n int) topology.NodeID {
	if len(s.NodeIDs) > 0 {
		return s.NodeIDs[n]
	}
	return topology.NodeID(n)
}

// core returns the CPUs of core c of node n, both counted from 0.
func (s Spec) core(n, c int) cpuset.Set {
	perNode := s.LLCsPerNode * s.CoresPerLLC
	first := n*perNode + c
	var b cpuset.Builder
	b.Add(cpuset.CPU(first))
	if s.kind(c) == topology.KindEfficiency {
		return b.Set()
	}
	for t := 1; t < s.Threads; t++ {
		b.Add(cpuset.CPU(t*(s.Nodes*perNode) + first - s.eCoresBefore(first)))
	}
	return b.Set()
}

// eCoresBefore counts the E cores with a lower number than core first: they
// have no second thread, so those of later cores move up.
func (s Spec) eCoresBefore(first int) int {
	llc, in := first/s.CoresPerLLC, first%s.CoresPerLLC
	return llc*s.ECores + max(0, in-(s.CoresPerLLC-s.ECores))
}

func (s Spec) llc(n, l int) cpuset.Set {
	var out cpuset.Set
	for c := range s.CoresPerLLC {
		out = out.Or(s.core(n, l*s.CoresPerLLC+c))
	}
	return out
}

func (s Spec) kind(c int) topology.Kind {
	switch {
	case s.ECores == 0:
		return topology.KindUniform
	case c%s.CoresPerLLC >= s.CoresPerLLC-s.ECores:
		return topology.KindEfficiency
	}
	return topology.KindPerformance
}

func mustParse(list string) cpuset.Set {
	set, err := cpuset.Parse(list)
	if err != nil {
		panic(err)
	}
	return set
}
