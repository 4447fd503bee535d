package place

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"piton/internal/cpuset"
)

// region is the CPUs of one cache or node that a target may use.
type region struct {
	name  string // "llc 1", "node 0"
	slots []int
	cost  float64 // what a thread of the target would meet there
}

// wholeLLC gives a target the CPUs of a last-level cache.
func (b *board) wholeLLC(t *Target, slots []int) (Choice, error) {
	members := b.byLLC(slots)
	if delete(members, -1); len(members) == 0 {
		return Choice{}, errors.New("the kernel does not say here which CPUs share a cache, node may do")
	}
	return b.whole(t, slots, "llc", members), nil
}

// wholeNode gives a target the CPUs of a node.
func (b *board) wholeNode(t *Target, slots []int) (Choice, error) {
	members := map[int][]int{}
	for _, i := range slots {
		node := int(b.slots[i].cpu.Node)
		members[node] = append(members[node], i)
	}
	if delete(members, -1); len(members) == 0 {
		return Choice{}, errors.New("none of the CPUs that it may use is on a node, llc may do")
	}
	return b.whole(t, slots, "node", members), nil
}

// whole takes the region where the target would meet the least load: the one
// nearest to its memory and cache among those that are alike.
func (b *board) whole(t *Target, slots []int, kind string, members map[int][]int) Choice {
	regions := make([]region, 0, len(members))
	for number, in := range members {
		regions = append(regions, region{fmt.Sprintf("%s %d", kind, number), in, b.crowdedness(t, in)})
	}
	least := slices.MinFunc(regions, func(x, y region) int { return cmp.Compare(x.cost, y.cost) }).cost
	near := newNearness(b, t)
	alike := func(r region) int {
		if r.cost <= least+tolerance {
			return 0
		}
		return 1
	}
	slices.SortFunc(regions, func(x, y region) int {
		if by := cmp.Compare(alike(x), alike(y)); by != 0 {
			return by
		}
		if alike(x) == 1 {
			return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.slots[0], y.slots[0]))
		}
		return near.compare(near.nearest(x.slots), near.nearest(y.slots), x.cost, y.cost)
	})
	c := Choice{TID: t.TID, Guess: len(regions) > 1 && b.floats(slots)}
	c.Reason = b.regionReason(t, regions)
	if c.Guess {
		c.Reason = guessWords + c.Reason
	}
	c.CPUs = b.take(regions[0].slots, t)
	c.Warning = b.tooNarrow(t, slots, c.CPUs)
	return c
}

// crowdedness is the load per CPU of a region with the target in it.
func (b *board) crowdedness(t *Target, in []int) float64 {
	sum := t.BusyShare
	for _, i := range in {
		sum += b.cost(i, t)
	}
	return sum / float64(len(in))
}

// nearest is the slot of a region by which the region's distance counts.
func (n nearness) nearest(in []int) int {
	return slices.MinFunc(in, func(i, j int) int { return n.compare(i, j, 0, 0) })
}

// tooNarrow warns of a target that has more busy threads than the CPUs it got,
// and names the placement that would hold them.
func (b *board) tooNarrow(t *Target, slots []int, given cpuset.Set) string {
	if t.BusyThreads <= given.Len() {
		return ""
	}
	on := "one CPU"
	if given.Len() > 1 {
		on = fmt.Sprintf("%d CPUs", given.Len())
	}
	words := fmt.Sprintf("%d busy threads on %s", t.BusyThreads, on)
	llcs, nodes := b.widest(slots)
	switch {
	case t.BusyThreads <= llcs && t.BusyThreads <= nodes:
		return words + "; llc or node would hold them"
	case t.BusyThreads <= llcs:
		return words + "; llc would hold them"
	case t.BusyThreads <= nodes:
		return words + "; node would hold them"
	}
	best, name := nodes, "node"
	if llcs >= nodes {
		best, name = llcs, "llc"
	}
	if best <= given.Len() {
		return words
	}
	return fmt.Sprintf("%s; %s would give them %d CPUs", words, name, best)
}

// widest is how many of the slots the largest cache and the largest node have.
func (b *board) widest(slots []int) (llc, node int) {
	llcs, nodes := map[int]int{}, map[int]int{}
	for _, i := range slots {
		c := b.slots[i].cpu
		if c.LLCIndex >= 0 {
			llcs[c.LLCIndex]++
			llc = max(llc, llcs[c.LLCIndex])
		}
		if c.Node >= 0 {
			nodes[int(c.Node)]++
			node = max(node, nodes[int(c.Node)])
		}
	}
	return llc, node
}
