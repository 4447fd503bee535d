package place

import "fmt"

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
