package action

import (
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
)

// MoveIRQs asks for lines to go to the CPUs, and the threads of their handlers
// with them.
func MoveIRQs(lines []*irq.Row, cpus cpuset.Set) []change.Request {
	out := make([]change.Request, len(lines))
	for i, line := range lines {
		out[i] = moveIRQ(line, cpus)
	}
	return out
}

// moveIRQ leaves the threads where they are if the line cannot be moved or is to
// stay: the kernel keeps them on the CPU to which the line goes.
func moveIRQ(line *irq.Row, cpus cpuset.Set) change.Request {
	r := change.Request{Files: []attr.FileSetting{attr.SetIRQ(line.Number, line.Title(), cpus)}, Set: []attr.Setting{attr.SetAffinity(cpus)}}
	if !line.CanMove() || line.Requested.OK && line.Requested.Equal(cpus) {
		return r
	}
	for _, t := range line.Threads {
		if !t.Bound {
			r.Targets = append(r.Targets, change.Target{TID: t.TID, Scope: change.ScopeThread})
		}
	}
	return r
}

// SpreadIRQs gives each of the lines one CPU of cpus: the queues of a device go to
// different cores as long as there are, on its node first, and all lines together
// are spread evenly. Both ways of a numbered queue share a CPU. Lines that cannot be
// moved do not count.
func SpreadIRQs(lines []*irq.Row, topo *topology.Topology, cpus cpuset.Set) []change.Request {
	s := spreader{topo: topo, cpus: cpus.CPUs(), given: map[any]int{}, queues: map[unit]cpuset.CPU{}}
	out := make([]change.Request, 0, len(lines))
	for _, queues := range []bool{true, false} { // what has no queue is rare, and comes last
		for _, line := range lines {
			if (line.Queue.Flow != irq.NoQueue) != queues {
				continue
			}
			to := cpus // to be refused in the plan
			if line.CanMove() {
				to = cpuset.Of(s.choose(line))
			}
			out = append(out, moveIRQ(line, to))
		}
	}
	return out
}

type (
	// unit is a queue of a device, which belongs on one CPU with both ways.
	unit struct {
		device string
		index  int
	}
	onCore       int
	deviceOnCore struct {
		device string
		core   onCore
	}
)

// spreader counts what was given.
type spreader struct {
	topo   *topology.Topology
	cpus   []cpuset.CPU
	given  map[any]int // lines by cpuset.CPU and by onCore, and those of a device by deviceOnCore
	queues map[unit]cpuset.CPU
}

// choose returns the CPU of a line: the core that has the fewest queues of the
// device, on the device's node, with the fewest lines at all.
func (s *spreader) choose(line *irq.Row) cpuset.CPU {
	device := line.Device.Address
	if device == "" {
		device = line.Device.Name()
	}
	paired := device != "" && line.Queue.Flow != irq.NoQueue
	q := unit{device, line.Queue.Index}
	if cpu, ok := s.queues[q]; ok && paired {
		return cpu
	}
	best, cost := cpuset.CPU(-1), [4]int{}
	for _, cpu := range s.cpus {
		c := s.cost(cpu, device, line.Node)
		if best < 0 || slices.Compare(c[:], cost[:]) < 0 {
			best, cost = cpu, c
		}
	}
	if paired {
		s.queues[q] = best
	}
	core := s.core(best)
	s.given[best]++
	s.given[core]++
	if device != "" {
		s.given[deviceOnCore{device, core}]++
	}
	return best
}

func (s *spreader) cost(cpu cpuset.CPU, device string, node int) [4]int {
	core, away := s.core(cpu), 0
	if c, ok := s.topo.CPU(cpu); ok && node >= 0 && int(c.Node) != node {
		away = 1
		if n, ok := s.topo.Node(topology.NodeID(node)); ok {
			away += n.Distances[c.Node]
		}
	}
	return [4]int{s.given[deviceOnCore{device, core}], away, s.given[core], s.given[cpu]}
}

// core numbers the CPU's core; CPUs without one stand for themselves.
func (s *spreader) core(cpu cpuset.CPU) onCore {
	if c, ok := s.topo.CPU(cpu); ok && c.CoreIndex >= 0 {
		return onCore(c.CoreIndex)
	}
	return -1 - onCore(cpu)
}

// DefaultIRQCPUs asks for lines that are set up from now on to go to the CPUs.
func DefaultIRQCPUs(cpus cpuset.Set) change.Request {
	return change.Request{Files: []attr.FileSetting{attr.SetFile(attr.DefaultIRQAffinity, irq.DefaultAffinityFile, "new IRQs", cpus)}}
}
