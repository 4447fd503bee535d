// Package topology knows which CPUs a machine has and how they hang together:
// SMT siblings, cores, last-level caches (LLC), NUMA nodes, packages, which are
// online, offline or isolated, and which kind of core they are.
//
// It reads /sys and /proc below a root path and nothing else, so a recorded
// host tree gives the same answer as the machine it was taken from. Start at
// Topology and Read; ParseCPUs reads the CPUS of the command line.
package topology

import (
	"piton/internal/cpuset"
)

// NodeID is the number of a NUMA node, the N in /sys/devices/system/node/nodeN.
// Numbers may have gaps.
type NodeID int

// Kind says which sort of core a CPU is on a hybrid processor.
type Kind uint8

// The kinds of core. KindUniform is every CPU of a machine with one kind.
const (
	KindUniform     Kind = iota
	KindPerformance      // P core (Intel cpu_core, or the highest cpu_capacity)
	KindEfficiency       // E core (Intel cpu_atom, or a lower cpu_capacity)
)

// String is "", "P" or "E".
func (k Kind) String() string { return [...]string{"", "P", "E"}[k] }

// CPU is one logical processor and its place in the machine.
type CPU struct {
	ID       cpuset.CPU
	Online   bool
	Isolated bool // in /sys/devices/system/cpu/isolated
	Kind     Kind
	// Core, LLC, Die and Package are the CPUs that share that level with this
	// one, itself included; a level the kernel does not describe is the CPU
	// alone (Core) or empty (LLC, Die, Package). Offline CPUs have them empty.
	Core, LLC, Die, Package cpuset.Set
	// CoreIndex, LLCIndex and PackageIndex number the distinct sets of each
	// level from 0 in order of their first CPU; -1 where there is none.
	CoreIndex, LLCIndex, PackageIndex int
	// Node is -1 for a CPU that is on no node: it is offline, or its node is.
	Node NodeID
}

// Cache is one cache, shared by CPUs.
type Cache struct {
	Level     int    // 1, 2, 3, …
	Type      string // "Data", "Instruction" or "Unified"
	SizeBytes int64  // 0 when unknown
	CPUs      cpuset.Set
}

// Node is one NUMA node.
type Node struct {
	ID          NodeID
	CPUs        cpuset.Set // the online ones; empty for a memory-only node
	MemoryBytes int64
	Distances   map[NodeID]int // from the firmware, 10 is local; empty when unknown
	// Allowed reports whether the cpuset of the process that read the topology
	// permits memory from this node.
	Allowed bool
}

// Topology is one machine at one moment. It is immutable. A machine without
// NUMA information has one node, number 0, that holds everything.
type Topology struct {
	CPUs     []CPU   // every present CPU in rising order, offline ones included
	Nodes    []Node  // in rising order of number
	Caches   []Cache // by level, type and first CPU
	Online   cpuset.Set
	Present  cpuset.Set
	Isolated cpuset.Set
	NohzFull cpuset.Set
	// Allowed is what the cpuset of the process that read the topology permits
	// of Online; all of it where nothing limits the process.
	Allowed cpuset.Set

	byNumber              []int32 // index in CPUs by CPU number, -1 for none
	cores, llcs, packages []cpuset.Set
	groups                []NodeGroup
	order                 []cpuset.CPU
}

// CPU returns the CPU with that number, and whether the machine has it.
func (t *Topology) CPU(id cpuset.CPU) (CPU, bool) {
	if c := t.lookup(id); c != nil {
		return *c, true
	}
	return CPU{}, false
}

func (t *Topology) lookup(id cpuset.CPU) *CPU {
	if id < 0 || int(id) >= len(t.byNumber) || t.byNumber[id] < 0 {
		return nil
	}
	return &t.CPUs[t.byNumber[id]]
}

// Node returns the node with that number, and whether the machine has it.
func (t *Topology) Node(id NodeID) (Node, bool) {
	for _, n := range t.Nodes {
		if n.ID == id {
			return n, true
		}
	}
	return Node{}, false
}

// Cores returns the online CPUs of each core; CPU.CoreIndex is the index in it.
// The slice is shared: do not write to it.
func (t *Topology) Cores() []cpuset.Set { return t.cores }

// LLCs returns the online CPUs of each last-level cache, by CPU.LLCIndex. The
// slice is shared: do not write to it.
func (t *Topology) LLCs() []cpuset.Set { return t.llcs }

// Scattered reports whether last-level caches say nothing about which CPUs belong
// together, as on virtual machines that claim one for every CPU.
func (t *Topology) Scattered() bool {
	n := t.Online.Len()
	return n > 1 && len(t.LLCs()) > n/2
}

// Packages returns the online CPUs of each package, by CPU.PackageIndex. The
// slice is shared: do not write to it.
func (t *Topology) Packages() []cpuset.Set { return t.packages }

// Distance is how far apart two CPUs are for a task that moves between them.
type Distance uint8

// The distance classes, nearest first.
const (
	SameCPU Distance = iota
	SMTSibling
	SameLLC
	SameNode
	OtherNode
)

// String names the class as the screens and JSON do.
func (d Distance) String() string {
	return [...]string{"same CPU", "SMT sibling", "same LLC", "same node", "other node"}[d]
}

// Distance classifies a move between two CPUs. CPUs that the machine does not
// have count as OtherNode.
func (t *Topology) Distance(a, b cpuset.CPU) Distance {
	if a == b {
		return SameCPU
	}
	ca, cb := t.lookup(a), t.lookup(b)
	switch {
	case ca == nil || cb == nil:
		return OtherNode
	case ca.Core.Has(b):
		return SMTSibling
	case ca.LLC.Has(b):
		return SameLLC
	case ca.Node == cb.Node:
		return SameNode
	}
	return OtherNode
}

// Ordinary returns the online CPUs that were not set apart at boot, all online ones
// where none is left.
func (t *Topology) Ordinary() cpuset.Set {
	return t.OnlineAmong(t.Online.AndNot(t.Isolated).AndNot(t.NohzFull))
}

// OnlineAmong returns those of the CPUs that are online, all online ones where none is.
func (t *Topology) OnlineAmong(cpus cpuset.Set) cpuset.Set {
	if cpus = cpus.And(t.Online); !cpus.Empty() {
		return cpus
	}
	return t.Online
}
