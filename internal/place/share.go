package place

import (
	"cmp"
	"math"
	"slices"
)

// A queue is what competes in one group for one CPU: tasks, and the groups
// inside it as one entity each.
type queue struct {
	load   float64 // weight times share of the window in which it was queued, summed
	used   float64 // share of the CPU
	absent float64 // log of the chance that none is queued, if each comes at random
}

// alwaysQueued is the least chance of absence, to stay in the range of log.
const alwaysQueued = 1e-9

func (q *queue) add(weight, queued, used float64) {
	if queued == 0 {
		return
	}
	q.load += weight * queued
	q.used += used
	q.absent += math.Log(max(alwaysQueued, 1-queued))
}

func (q *queue) remove(weight, queued, used float64) {
	q.load = max(0, q.load-weight*queued)
	q.used = max(0, q.used-used)
	q.absent = min(0, q.absent-math.Log(max(alwaysQueued, 1-queued)))
}

// present is the share of the window in which any of them was queued. It is no
// less than what they used, and no more than fair, the time that all fair tasks
// of the CPU used: a CPU is not idle while one is queued.
func (q *queue) present(fair float64) float64 {
	if q.absent == 0 {
		return q.used
	}
	return max(q.used, min(1-math.Exp(q.absent), fair))
}

// weigh fills the queues of all groups from the tasks that stay and those placed.
func (b *board) weigh() {
	b.queues = map[*Group][]queue{nil: make([]queue, len(b.slots))}
	for i := range b.slots {
		s := &b.slots[i]
		for k := range s.rivals {
			r := &s.rivals[k]
			b.queueOf(r.Group)[i].add(r.Weight, min(r.Queued, s.avail), r.Used)
		}
		if s.rest > 0 {
			b.queues[nil][i].add(s.restWeight, s.rest, s.rest)
		}
	}
	b.total = make(map[*Group]float64, len(b.queues))
	groups := make([]*Group, 0, len(b.queues)-1)
	for g := range b.queues {
		if g != nil {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(x, y *Group) int { return cmp.Compare(y.depth(), x.depth()) })
	for _, g := range groups { // those inside others first
		for i := range b.queues[g] {
			b.total[g] += b.queues[g][i].load
		}
		above := b.queues[g.Parent]
		for i := range b.queues[g] {
			above[i].add(b.entity(g, i))
		}
	}
}

// queueOf returns the queues of a group by slot, and makes those of the groups
// that it is in as well.
func (b *board) queueOf(g *Group) []queue {
	if q, ok := b.queues[g]; ok {
		return q
	}
	b.queueOf(g.Parent)
	q := make([]queue, len(b.slots))
	b.queues[g] = q
	return q
}

// entity is what a group counts as in the queue of the group above it. The
// kernel scales the group's weight by the CPU's part of the group's load
// (calc_group_shares, kernel/sched/fair.c): weight * load here / load on all
// CPUs. It takes the weight queued at the moment here, and averages of some
// 100 ms elsewhere; piton takes the mean weight while any is queued here, and
// the mean of the window elsewhere.
func (b *board) entity(g *Group, i int) (weight, queued, used float64) {
	q := &b.queues[g][i]
	if queued = q.present(b.slots[i].fair); queued == 0 || q.load == 0 {
		return 0, 0, 0
	}
	here := q.load / queued
	return g.Weight * here / (here + b.total[g] - q.load), queued, q.used
}

// level is a target's competition in one of the groups that it is in: its own
// weight there, or that of the entity of the group below, against the others.
type level struct {
	weight float64
	others queue
}

// share is the estimate that everything is decided by: which share of a CPU a
// target would get on a slot if it always wanted to run. Its time there is what
// real time, interrupts and a hypervisor leave; in each group from the root to
// its own it gets all of that while none of the others is queued, and else its
// part by weight.
func (b *board) share(t *Target, i int) float64 {
	s := &b.slots[i]
	if t.RealTime {
		return s.avail
	}
	levels := b.levels[:0]
	weight := t.weight()
	for g, below := t.Group, (*Group)(nil); ; g, below = g.Parent, g {
		l := level{weight: weight}
		total := 0.0
		if q, ok := b.queues[g]; ok {
			l.others, total = q[i], b.total[g]-q[i].load
			if below != nil && b.queues[below] != nil {
				l.others.remove(b.entity(below, i))
			}
		}
		levels = append(levels, l)
		if g == nil {
			break
		}
		here := l.others.load + weight
		weight = g.Weight * here / (here + total)
	}
	b.levels = levels
	share := s.avail
	for _, l := range slices.Backward(levels) {
		if present := l.others.present(s.fair); present > 0 {
			busy := min(1, present/s.avail)
			share *= 1 - busy + busy*l.weight/(l.weight+l.others.load/present)
		}
	}
	return share
}

// weight is a target's own; a nice value is not known of one that is new.
func (t *Target) weight() float64 {
	if t.Weight == 0 {
		return NiceZero
	}
	return t.Weight
}

// expect estimates a target's share of each slot.
func (b *board) expect(t *Target) {
	for i := range b.slots {
		b.slots[i].share = b.share(t, i)
	}
}

// leastShare keeps the slowdown finite where nothing is left.
const leastShare = 0.01

// slowdown is how much longer a target's work takes on a slot than on a free
// CPU, because it shares the CPU: 0 alone, 1 with one equal task, 3 with three.
func (s *slot) slowdown() float64 { return 1/max(s.share, leastShare) - 1 }
