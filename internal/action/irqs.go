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
	s := spreader{topo: topo, cpus: cpus.CPUs(), onCPU: map[cpuset.CPU]int{}, onCore: map[int]int{}, device: map[deviceCore]int{}, units: map[unit]cpuset.CPU{}}
	out := make([]change.Request, 0, len(lines))
	for _, queues := range []bool{true, false} { // what has no queue is rare, and comes last
		for _, line := range lines {
			if (line.Queue.Flow != irq.NoQueue) != queues {
				continue
			}
			if !line.CanMove() {
				out = append(out, moveIRQ(line, cpus)) // to be refused in the plan
				continue
			}
			out = append(out, moveIRQ(line, cpuset.Of(s.choose(line))))
		}
	}
	return out
}

// unit is what belongs on one CPU: a queue of a device.
type unit struct {
	device string
	index  int
}

type deviceCore struct {
	device string
	core   int
}

// spreader counts what each CPU and core was given.
type spreader struct {
	topo   *topology.Topology
	cpus   []cpuset.CPU
	onCPU  map[cpuset.CPU]int
	onCore map[int]int
	device map[deviceCore]int // units of a device by core
	units  map[unit]cpuset.CPU
}

// choose returns the CPU of a line: the core that has the fewest queues of the
// device, on the device's node, with the fewest lines at all.
func (s *spreader) choose(line *irq.Row) cpuset.CPU {
	device := line.Device.Address
	if device == "" {
		device = line.Device.Name()
	}
	paired := device != "" && line.Queue.Flow != irq.NoQueue
	u := unit{device, line.Queue.Index}
	if cpu, ok := s.units[u]; ok && paired {
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
		s.units[u] = best
	}
	core := s.core(best)
	s.onCPU[best]++
	s.onCore[core]++
	if device != "" {
		s.device[deviceCore{device, core}]++
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
	return [4]int{s.device[deviceCore{device, core}], away, s.onCore[core], s.onCPU[cpu]}
}

// core numbers the CPU's core; CPUs without one stand for themselves.
func (s *spreader) core(cpu cpuset.CPU) int {
	if c, ok := s.topo.CPU(cpu); ok && c.CoreIndex >= 0 {
		return c.CoreIndex
	}
	return -1 - int(cpu)
}

// DefaultIRQCPUs asks for lines that are set up from now on to go to the CPUs.
func DefaultIRQCPUs(cpus cpuset.Set) change.Request {
	return change.Request{Files: []attr.FileSetting{attr.SetFile(attr.DefaultIRQAffinity, irq.DefaultAffinityFile, "new IRQs", cpus)}}
}
