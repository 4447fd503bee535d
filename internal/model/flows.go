package model

import (
	"cmp"
	"maps"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/sample"
	"piton/internal/topology"
)

// Locality says how near the CPUs that read from the network are to those that handle its
// packets, by bytes.
type Locality struct {
	Bytes, Reads, Packets uint64
	// Placed are the bytes of which the handling CPU is known: of TCP, and of connected UDP.
	// The others are parts of it, each with those before.
	Placed, SameCPU, SameLLC, SameNode uint64
}

// Add takes in a count.
func (l *Locality) Add(f *sample.Flow, topo *topology.Topology) {
	l.Bytes += f.Bytes
	l.Reads += f.Reads
	l.Packets += f.Packets
	if f.Handled < 0 {
		return
	}
	l.Placed += f.Bytes
	switch topo.Distance(f.Handled, f.Consumed) {
	case topology.SameCPU:
		l.SameCPU += f.Bytes
		fallthrough
	case topology.SMTSibling, topology.SameLLC:
		l.SameLLC += f.Bytes
		fallthrough
	case topology.SameNode:
		l.SameNode += f.Bytes
	}
}

// Join takes in another's.
func (l *Locality) Join(o Locality) {
	l.Bytes, l.Reads, l.Packets = l.Bytes+o.Bytes, l.Reads+o.Reads, l.Packets+o.Packets
	l.Placed, l.SameCPU, l.SameLLC, l.SameNode = l.Placed+o.Placed, l.SameCPU+o.SameCPU, l.SameLLC+o.SameLLC, l.SameNode+o.SameNode
}

// Share is a part of Placed from 0 to 1; ok is false if that is nothing.
func (l *Locality) Share(part uint64) (share float64, ok bool) {
	if l.Placed == 0 {
		return 0, false
	}
	return float64(part) / float64(l.Placed), true
}

// LocalityOf is that of all counts.
func LocalityOf(counts []sample.Flow, topo *topology.Topology) (l Locality) {
	for i := range counts {
		l.Add(&counts[i], topo)
	}
	return l
}

// Flow is what a process read of one socket.
type Flow struct {
	sample.Socket
	Interface, Queue  int        // that the packets come in through; 0 and -1 unknown
	Handled, Consumed []CPUShare // those with most bytes first; Handled without unknown ones
	Locality
}

// CPUShare is what one CPU had.
type CPUShare struct {
	CPU   cpuset.CPU
	Bytes uint64
}

// Flows sums counts up by socket, the one with most bytes first.
func Flows(counts []sample.Flow, topo *topology.Topology) []Flow {
	type sums struct{ handled, consumed map[cpuset.CPU]uint64 }
	at, cpus := map[sample.Socket]int{}, []sums{}
	var out []Flow
	for i := range counts {
		c := &counts[i]
		j, there := at[c.Flow]
		if !there {
			j = len(out)
			at[c.Flow] = j
			out = append(out, Flow{Socket: c.Flow, Queue: -1})
			cpus = append(cpus, sums{map[cpuset.CPU]uint64{}, map[cpuset.CPU]uint64{}})
		}
		f := &out[j]
		f.Add(c, topo)
		f.Interface, f.Queue = max(f.Interface, c.Interface), max(f.Queue, c.Queue)
		cpus[j].consumed[c.Consumed] += c.Bytes
		if c.Handled >= 0 {
			cpus[j].handled[c.Handled] += c.Bytes
		}
	}
	for j := range out {
		out[j].Handled, out[j].Consumed = cpuShares(cpus[j].handled), cpuShares(cpus[j].consumed)
	}
	slices.SortFunc(out, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Cookie, b.Cookie), cmp.Compare(a.PID, b.PID))
	})
	return out
}

func cpuShares(bytes map[cpuset.CPU]uint64) []CPUShare {
	out := make([]CPUShare, 0, len(bytes))
	for cpu, n := range maps.All(bytes) {
		out = append(out, CPUShare{cpu, n})
	}
	slices.SortFunc(out, func(a, b CPUShare) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.CPU, b.CPU)) })
	return out
}
