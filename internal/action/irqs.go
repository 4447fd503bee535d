package action

import (
	"slices"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
	"piton/internal/tune"
)

// MoveIRQs asks for lines to go to the CPUs, and the threads of their handlers
// with them.
func MoveIRQs(lines []*irq.Row, cpus cpuset.Set) []tune.Request {
	out := make([]tune.Request, len(lines))
	for i, line := range lines {
		out[i] = moveIRQ(line, cpus)
	}
	return out
}

// moveIRQ leaves the threads where they are if the line cannot be moved or is to
// stay: the kernel keeps them on the CPU to which the line goes.
func moveIRQ(line *irq.Row, cpus cpuset.Set) tune.Request {
	r := tune.Request{
		Files: []tune.FileSetting{{
			Attribute: tune.IRQAffinity, Path: irq.AffinityFile(line.Number), Name: line.Title(), Value: cpus.String(),
		}},
		Settings: tune.Settings{Affinity: &cpus},
	}
	if !line.CanMove() || line.Requested.OK && line.Requested.Equal(cpus) {
		return r
	}
	for _, t := range line.Threads {
		if t.Bound {
			continue
		}
		r.Targets = append(r.Targets, tune.Target{TID: t.TID, Scope: tune.ScopeThread})
	}
	return r
}

// SpreadIRQs gives each of the lines one CPU of cpus: the queues of a device go to
// different cores as long as there are, on its node first, and all lines together
// are dealt out evenly. Both ways of a numbered queue share a CPU. Lines that
// cannot be moved take no turn.
func SpreadIRQs(lines []*irq.Row, topo *topology.Topology, cpus cpuset.Set) []tune.Request {
	d := dealer{topo: topo, cpus: cpus.CPUs(), onCPU: map[cpuset.CPU]int{}, onCore: map[int]int{}, device: map[deviceCore]int{}, units: map[unit]cpuset.CPU{}}
	out := make([]tune.Request, 0, len(lines))
	for _, queues := range []bool{true, false} { // what has no queue is rare: its turn is last
		for _, line := range lines {
			if (line.Queue.Flow != irq.NoQueue) != queues {
				continue
			}
			if !line.CanMove() {
				out = append(out, moveIRQ(line, cpus)) // to be refused in the plan
				continue
			}
			out = append(out, moveIRQ(line, cpuset.Of(d.deal(line))))
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

// dealer counts what it has dealt to whom.
type dealer struct {
	topo   *topology.Topology
	cpus   []cpuset.CPU
	onCPU  map[cpuset.CPU]int
	onCore map[int]int
	device map[deviceCore]int // units of a device by core
	units  map[unit]cpuset.CPU
}

// deal chooses the CPU of a line: the core that has the fewest queues of the
// device, on the device's node, with the fewest lines at all.
func (d *dealer) deal(line *irq.Row) cpuset.CPU {
	device := line.Device.Address
	if device == "" {
		device = line.Device.Name()
	}
	paired := device != "" && line.Queue.Flow != irq.NoQueue
	u := unit{device, line.Queue.Index}
	if cpu, ok := d.units[u]; ok && paired {
		return cpu
	}
	best, cost := cpuset.CPU(-1), [4]int{}
	for _, cpu := range d.cpus {
		c := d.cost(cpu, device, line.Node)
		if best < 0 || slices.Compare(c[:], cost[:]) < 0 {
			best, cost = cpu, c
		}
	}
	if paired {
		d.units[u] = best
	}
	core := d.core(best)
	d.onCPU[best]++
	d.onCore[core]++
	if device != "" {
		d.device[deviceCore{device, core}]++
	}
	return best
}

func (d *dealer) cost(cpu cpuset.CPU, device string, node int) [4]int {
	core, away := d.core(cpu), 0
	if c, ok := d.topo.CPU(cpu); ok && node >= 0 && int(c.Node) != node {
		away = 1
		if n, ok := d.topo.Node(topology.NodeID(node)); ok {
			away += n.Distances[c.Node]
		}
	}
	return [4]int{d.device[deviceCore{device, core}], away, d.onCore[core], d.onCPU[cpu]}
}

// core numbers the CPU's core; CPUs without one stand for themselves.
func (d *dealer) core(cpu cpuset.CPU) int {
	if c, ok := d.topo.CPU(cpu); ok && c.CoreIndex >= 0 {
		return c.CoreIndex
	}
	return -1 - int(cpu)
}

// DefaultIRQCPUs asks for lines that are set up from now on to go to the CPUs.
func DefaultIRQCPUs(cpus cpuset.Set) tune.Request {
	return tune.Request{Files: []tune.FileSetting{{
		Attribute: tune.DefaultIRQAffinity, Path: irq.DefaultAffinityFile, Name: "new IRQs", Value: cpus.String(),
	}}}
}
