package place

import (
	"cmp"
	"math"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// pick returns the best of some slots for a target, and the next best, on another
// core if there is one, -1 if there is no other at all. Slots of the lowest tier come first; of these,
// those that cost no more than the tolerance above the cheapest are alike, and
// the nearest of them wins.
func (b *board) pick(t *Target, slots []int, tier func(slot int) int) (best, next int) {
	n := newNearness(b, t)
	best = b.pickFrom(t, slots, tier, n)
	core := b.slots[best].cpu.Core
	others := slices.DeleteFunc(slices.Clone(slots), func(i int) bool { return core.Has(b.slots[i].cpu.ID) })
	if len(others) == 0 {
		others = slices.DeleteFunc(slices.Clone(slots), func(i int) bool { return i == best })
	}
	return best, b.pickFrom(t, others, tier, n)
}

func (b *board) pickFrom(t *Target, slots []int, tier func(int) int, n nearness) int {
	lowest, cheapest, compared := math.MaxInt, math.Inf(1), 0
	for _, i := range slots {
		if at := tier(i); at < lowest {
			lowest, cheapest, compared = at, b.cost(i, t), 1
		} else if at == lowest {
			cheapest = min(cheapest, b.cost(i, t))
			compared++
		}
	}
	best, bestCost := -1, 0.0
	for _, i := range slots {
		if tier(i) != lowest {
			continue
		}
		cost := b.cost(i, t)
		if b.alike(i, t, cheapest, compared) && (best < 0 || n.compare(i, best, cost, bestCost) < 0) {
			best, bestCost = i, cost
		}
	}
	return best
}

// nearness orders slots by how far they are from where a target's memory and
// cache contents are.
type nearness struct {
	b    *board
	last cpuset.CPU
	// memory is the distance of each node from the target's home, or from where
	// it ran last; 10 is the same node.
	memory map[topology.NodeID]int
}

// otherNode is what firmware gives for the distance of a neighbour.
const (
	sameNode  = 10
	otherNode = 20
)

func newNearness(b *board, t *Target) nearness {
	n := nearness{b: b, last: t.LastCPU}
	home := t.HomeNode
	if home < 0 {
		c, ok := b.topo.CPU(t.LastCPU)
		if !ok {
			return n
		}
		home = c.Node
	}
	known, _ := b.topo.Node(home)
	n.memory = make(map[topology.NodeID]int, len(b.topo.Nodes))
	for _, node := range b.topo.Nodes {
		d, ok := known.Distances[node.ID]
		switch {
		case node.ID == home:
			d = sameNode
		case !ok:
			d = otherNode
		}
		n.memory[node.ID] = d
	}
	return n
}

// compare is below 0 when slot i is to be preferred to j, of which the costs are
// given. Memory goes before cache: what is in a cache is soon there again.
func (n nearness) compare(i, j int, costI, costJ float64) int {
	a, b := n.b.slots[i].cpu, n.b.slots[j].cpu
	if by := cmp.Compare(n.memory[a.Node], n.memory[b.Node]); by != 0 {
		return by
	}
	if n.last >= 0 {
		if by := cmp.Compare(n.b.topo.Distance(n.last, a.ID), n.b.topo.Distance(n.last, b.ID)); by != 0 {
			return by
		}
	}
	return cmp.Or(cmp.Compare(percent(costI), percent(costJ)), cmp.Compare(a.ID, b.ID))
}

func percent(share float64) int { return int(math.Round(100 * share)) }
