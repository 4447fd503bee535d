package place

import (
	"math"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// What counts how much, in CPUs' worth of load. They were set so that the order
// of DESIGN's list comes out: a busy CPU is worse than a busy sibling, that is
// worse than a slower core, and the rest decides between CPUs that are alike.
const (
	// siblingWeight: two busy siblings each get a bit more than half of a core.
	siblingWeight = 0.5
	// siblingMost keeps a sibling of the busiest core better than sharing a CPU.
	siblingMost = 0.9
	// slowCore: an E core does about half as much; it goes before the sibling of a
	// busy P core.
	slowCore = 0.45
	// cpuBound is the CPU share from which on the speed of the core matters.
	cpuBound = 0.25
	// pinnedTask: its load may come back and cannot be moved out of the way.
	pinnedTask = 0.05
	pinnedMost = 0.25
	// interrupts are in Busy already; they cannot be scheduled around, though.
	irqWeight = 0.5
	// tolerance is a difference that means nothing: a window of 250 ms resolves 4 %.
	tolerance = 0.05
	// ownError is by how much a target's own share may be under-estimated; without
	// it a task alone on its core would be driven off by the remainder.
	ownError = 0.1
	// idleBelow is the load up to which a CPU is called idle.
	idleBelow = 0.05
)

// slot is one CPU that tasks can be put on.
type slot struct {
	cpu      *topology.CPU
	load     Load
	base     float64 // load of others: own shares off, placed targets on
	own      float64 // the targets' own share that was taken off
	measured float64 // busy + run delay of others; base, without the kernel's averages
	siblings []int   // slots of the SMT siblings, those without load data left out
	placed   int     // targets placed here so far
}

// board is the machine while targets are placed on it.
type board struct {
	topo     *topology.Topology
	slots    []slot // online CPUs of which the load is known, by number
	at       []int  // slot by CPU number, -1 for none
	pressure bool   // loads are the kernel's averages and not busy + run delay
	within   cpuset.Set
	isolated bool // isolated CPUs may be used
}

func newBoard(r Request) *board {
	b := &board{topo: r.Topology, within: r.Within, isolated: r.AllowIsolated, pressure: len(r.Loads) > 0}
	b.at = make([]int, r.Topology.Present.Last()+1)
	for i := range b.at {
		b.at[i] = -1
	}
	b.fill(r.Loads)
	siblings := make([]int, 0, len(b.slots)) // of all slots, one after the other
	for i := range b.slots {
		start := len(siblings)
		for id := range b.slots[i].cpu.Core.All() {
			if o := b.at[id]; o >= 0 && o != i {
				siblings = append(siblings, o)
			}
		}
		b.slots[i].siblings = siblings[start:len(siblings):len(siblings)]
	}
	b.attribute(r.Targets)
	b.setBases(r.Targets)
	return b
}

// fill makes the slots: online CPUs that have a load.
func (b *board) fill(loads []Load) {
	known := make([]*Load, len(b.at))
	for i := range loads {
		l := &loads[i]
		if int(l.CPU) < len(known) && l.CPU >= 0 && !math.IsNaN(l.Busy+l.RunDelay) {
			known[l.CPU] = l
		}
	}
	b.slots = make([]slot, 0, len(loads))
	for i := range b.topo.CPUs {
		c := &b.topo.CPUs[i]
		l := known[c.ID]
		if !c.Online || l == nil {
			continue
		}
		b.at[c.ID] = len(b.slots)
		b.slots = append(b.slots, slot{cpu: c, load: *l})
		b.pressure = b.pressure && l.HavePressure
	}
}

// attribute finds how much of each CPU's load was the targets' own. Only where a
// task was last is known, and one that bounces did its work elsewhere too: no
// more of it is put on a CPU than the other tasks there leave unexplained, and
// the rest goes where there is such time. The kernel's averages move with a
// task, so they are all where it is.
func (b *board) attribute(targets []Target) {
	free := make([]float64, len(b.slots))
	for i := range b.slots {
		s := &b.slots[i]
		free[i] = s.load.Pressure
		if b.pressure {
			continue
		}
		others := s.load.Resident
		for t := range targets {
			others -= targets[t].Share[s.cpu.ID]
		}
		free[i] = max(0, s.load.Busy-max(0, others))
	}
	rest, room := 0.0, 0.0
	for t := range targets {
		rest += b.ownOf(&targets[t])[-1]
	}
	for i := range b.slots {
		s := &b.slots[i]
		share := 0.0
		for t := range targets {
			share += b.ownOf(&targets[t])[s.cpu.ID]
		}
		s.own = min(share, free[i])
		free[i] -= s.own
		rest += share - s.own
		room += free[i]
	}
	if room == 0 {
		return
	}
	for i := range b.slots {
		b.slots[i].own += free[i] * min(1, rest/room)
	}
}

// ownOf is a target's own part of the loads, by CPU.
func (b *board) ownOf(t *Target) map[cpuset.CPU]float64 {
	if b.pressure && t.Pressure != nil {
		return t.Pressure
	}
	return t.Share
}

// setBases takes off what the targets themselves do: all of them are about to be
// placed, so none of it need stay where it is.
func (b *board) setBases(targets []Target) {
	for i := range b.slots {
		s := &b.slots[i]
		load, share := s.load.Busy+s.load.RunDelay, 0.0
		for t := range targets {
			load -= targets[t].Delay[s.cpu.ID]
			share += targets[t].Share[s.cpu.ID]
		}
		if !b.pressure {
			s.base = less(load, s.own)
			s.measured = s.base
			continue
		}
		s.measured = less(load, share)
		if s.base = less(s.load.Busy, share); s.load.Busy >= saturated {
			s.base = min(1, s.measured) + less(s.load.Pressure, s.own)
		}
	}
}

// saturated is the busy share from which on a CPU has no time left over. Below,
// a newcomer gets what is left, whatever the weight of those who were there: a
// kernel worker at nice -20 weighs as much as 86 busy tasks, and is gone in a
// moment. Above, the weights of those who wait decide.
const saturated = 0.9

// less takes a target's own part off a load.
func less(load, own float64) float64 { return max(0, load-own*(1+ownError)) }

// cost is how bad a slot is for a target, in CPUs' worth of load.
func (b *board) cost(i int, t *Target) float64 {
	s := &b.slots[i]
	sibling := 0.0
	for _, o := range s.siblings {
		sibling += b.slots[o].base
	}
	cost := s.base + min(siblingMost, siblingWeight*sibling) +
		min(pinnedMost, pinnedTask*float64(s.load.Pinned)) + irqWeight*s.load.IRQ
	if s.cpu.Kind == topology.KindEfficiency && t.BusyShare >= cpuBound {
		cost += slowCore
	}
	return cost
}

// take puts a target on some slots, in equal parts.
func (b *board) take(slots []int, t *Target) cpuset.Set {
	var cpus cpuset.Builder
	for _, i := range slots {
		b.slots[i].base += t.BusyShare / float64(len(slots))
		b.slots[i].placed++
		cpus.Add(b.slots[i].cpu.ID)
	}
	return cpus.Set()
}

// crowding is 0 for a slot on whose core no target was placed, 1 when one is on
// a sibling, and above that by the number of targets on the slot itself.
func (b *board) crowding(i int) int {
	s := &b.slots[i]
	if s.placed > 0 {
		return 1 + s.placed
	}
	for _, o := range s.siblings {
		if b.slots[o].placed > 0 {
			return 1
		}
	}
	return 0
}
