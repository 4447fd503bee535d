package place

import (
	"fmt"
	"slices"

	"piton/internal/topology"
)

// threads is how many CPUs a target can use at once.
func (t *Target) threads() int { return max(1, t.BusyThreads) }

// pack gives a target a CPU for each busy thread, all close to each other and
// to the targets packed before.
func (b *board) pack(t *Target, slots []int) (Choice, error) {
	anchor, how := b.packed(), ""
	if anchor >= 0 {
		how = fmt.Sprintf("close to cpu %d", b.slots[anchor].cpu.ID)
	} else {
		anchor = b.anchor(t, slots)
	}
	from := b.slots[anchor].cpu.ID
	taken := b.oneByOne(t, slots, func(i int) int {
		tier := 16*b.slots[i].placed + 2*int(b.topo.Distance(from, b.slots[i].cpu.ID))
		if b.crowding(i) == 0 {
			tier++ // a core that was begun is filled first
		}
		return tier
	}, func(int) {})
	if len(taken) > 1 {
		how = b.together(taken)
	}
	return b.several(t, slots, taken, how), nil
}

// packed is the first slot that a target was placed on, -1 for none.
func (b *board) packed() int {
	return slices.IndexFunc(b.slots, func(s slot) bool { return s.placed > 0 })
}

// anchor is where packing begins: the best slot of the last-level cache that has
// the most room for the target's threads.
func (b *board) anchor(t *Target, slots []int) int {
	rooms := map[int]float64{} // what the threads would cost, by LLC
	for llc, members := range b.byLLC(slots) {
		costs := make([]float64, len(members))
		for k, i := range members {
			costs[k] = b.cost(i, t)
		}
		slices.Sort(costs)
		for k := range t.threads() {
			// A thread beyond the last CPU shares one.
			rooms[llc] += costs[k%len(costs)] + float64(k/len(costs))
		}
	}
	cheapest := cheapestOf(rooms)
	best, _ := b.pick(t, slots, func(i int) int {
		if rooms[b.slots[i].cpu.LLCIndex] <= cheapest+tolerance*float64(t.threads()) {
			return 0
		}
		return 1
	})
	return best
}

// byLLC groups slots by last-level cache, -1 for those without.
func (b *board) byLLC(slots []int) map[int][]int {
	out := map[int][]int{}
	for _, i := range slots {
		llc := b.slots[i].cpu.LLCIndex
		out[llc] = append(out[llc], i)
	}
	return out
}

func cheapestOf(rooms map[int]float64) float64 {
	first, cheapest := true, 0.0
	for _, cost := range rooms {
		if first || cost < cheapest {
			first, cheapest = false, cost
		}
	}
	return cheapest
}

// spread gives a target a CPU for each busy thread, as far from each other and
// from the targets placed before as can be: other nodes first, then other
// last-level caches, then other cores.
func (b *board) spread(t *Target, slots []int) (Choice, error) {
	nodes, llcs := map[topology.NodeID]int{}, map[int]int{}
	for i := range b.slots {
		s := &b.slots[i]
		nodes[s.cpu.Node] += s.placed
		llcs[s.cpu.LLCIndex] += s.placed
	}
	taken := b.oneByOne(t, slots, func(i int) int {
		c := b.slots[i].cpu
		return (nodes[c.Node]<<20+llcs[c.LLCIndex])<<20 + b.crowding(i)
	}, func(i int) {
		nodes[b.slots[i].cpu.Node]++
		llcs[b.slots[i].cpu.LLCIndex]++
	})
	return b.several(t, slots, taken, b.apart(taken)), nil
}

// apart says how far from each other slots are.
func (b *board) apart(taken []int) string {
	for _, level := range []struct {
		name string
		of   func(*topology.CPU) int
	}{
		{"nodes", func(c *topology.CPU) int { return int(c.Node) }},
		{"caches", func(c *topology.CPU) int { return c.LLCIndex }},
		{"cores", func(c *topology.CPU) int { return c.CoreIndex }},
	} {
		seen := map[int]bool{}
		for _, i := range taken {
			seen[level.of(b.slots[i].cpu)] = true
		}
		if len(seen) > 1 {
			return fmt.Sprintf("spread over %d %s", len(seen), level.name)
		}
	}
	return "spread"
}

// oneByOne picks a slot for each busy thread of a target, as long as there are
// any, and tells took of each, so that the tiers can take account of it.
func (b *board) oneByOne(t *Target, slots []int, tier func(int) int, took func(int)) []int {
	var taken []int
	near, left := newNearness(b, t), slices.Clone(slots)
	for len(taken) < t.threads() && len(left) > 0 {
		best := b.pickFrom(t, left, tier, near)
		left = slices.DeleteFunc(left, func(i int) bool { return i == best })
		taken = append(taken, best)
		b.slots[best].placed++
		took(best)
	}
	for _, i := range taken {
		b.slots[i].placed-- // take counts it again
	}
	return taken
}

// together says how close to each other slots are.
func (b *board) together(taken []int) string {
	first, farthest := b.slots[taken[0]].cpu.ID, topology.SameCPU
	for _, i := range taken {
		farthest = max(farthest, b.topo.Distance(first, b.slots[i].cpu.ID))
	}
	switch farthest {
	case topology.SameCPU, topology.SMTSibling:
		return "on one core"
	case topology.SameLLC:
		return fmt.Sprintf("on one L%d", b.llcLevel(first))
	case topology.SameNode:
		return "on one node"
	}
	return "on more than one node"
}

// several puts a target on some slots and says why.
func (b *board) several(t *Target, slots, taken []int, how string) Choice {
	if len(taken) == 1 {
		c := b.single(t, slots, taken[0], -1)
		c.Reason = joinWords(c.Reason, how)
		return c
	}
	c := Choice{TID: t.TID, Guess: b.floats(slots)}
	expected := b.average(taken, how)
	c.CPUs = b.take(taken, t)
	c.Reason = fmt.Sprintf("cpus %s: %s", c.CPUs, expected)
	if c.Guess {
		c.Reason = guessWords + c.Reason
	}
	c.Warning = b.tooNarrow(t, slots, c.CPUs)
	return c
}

// leastLoaded gives a target one CPU: a core that no other target has, as long
// as there is one.
func (b *board) leastLoaded(t *Target, slots []int) (Choice, error) {
	best, next := b.pick(t, slots, b.crowding)
	return b.single(t, slots, best, next), nil
}

// siblingFree gives a target one CPU of a core whose other siblings are idle.
func (b *board) siblingFree(t *Target, slots []int) (Choice, error) {
	busy := func(i int) int {
		tier := 0
		if b.siblingLoad(i) > idleBelow {
			tier = 1
		}
		return tier + 2*b.crowding(i)
	}
	best, next := b.pick(t, slots, busy)
	load := b.siblingLoad(best)
	c := b.single(t, slots, best, next)
	if load > idleBelow {
		c.Warning = joinWords(fmt.Sprintf("no core has idle siblings only, the busiest one here does %d %%", percent(load)), c.Warning)
	}
	return c, nil
}

// siblingLoad is the load of the busiest sibling.
func (b *board) siblingLoad(i int) float64 {
	load := 0.0
	for _, o := range b.slots[i].siblings {
		load = max(load, b.slots[o].busy)
	}
	return load
}

// single puts a target on one slot and says why.
func (b *board) single(t *Target, slots []int, best, next int) Choice {
	s := &b.slots[best]
	c := Choice{TID: t.TID, Reason: b.reason(t, best, next), Guess: b.floats(slots), Share: s.share, Busy: min(s.busy, 1), Near: b.distanceWords(t, s.cpu)}
	others := b.slots[best].placed
	c.CPUs = b.take([]int{best}, t)
	if c.Guess {
		c.Reason = guessWords + c.Reason
	}
	if others > 0 {
		c.Warning = fmt.Sprintf("more targets than CPUs: %d others are placed on cpu %d too", others, b.slots[best].cpu.ID)
		if others == 1 {
			c.Warning = fmt.Sprintf("more targets than CPUs: another one is placed on cpu %d too", b.slots[best].cpu.ID)
		}
	}
	c.Warning = joinWords(c.Warning, b.tooNarrow(t, slots, c.CPUs))
	return c
}
