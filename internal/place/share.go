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
	tasks  float64 // queued on average, those in the groups inside it included
	used   float64 // share of the CPU
	absent float64 // log of the chance that none is queued, if each comes at random
}

// alwaysQueued is the least chance of absence, to stay in the range of log.
const alwaysQueued = 1e-9

// A member is what competes in a queue: a task, or a group as one.
type member struct {
	weight       float64
	queued, used float64 // shares of the window, of the CPU
	tasks        float64 // queued on average
}

func (q *queue) add(m member) {
	if m.queued == 0 {
		return
	}
	q.load += m.weight * m.queued
	q.tasks += m.tasks
	q.used += m.used
	q.absent += math.Log(max(alwaysQueued, 1-m.queued))
}

func (q *queue) remove(m member) {
	q.load = max(0, q.load-m.weight*m.queued)
	q.tasks = max(0, q.tasks-m.tasks)
	q.used = max(0, q.used-m.used)
	q.absent = min(0, q.absent-math.Log(max(alwaysQueued, 1-m.queued)))
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
			queued := min(r.Queued, s.avail)
			b.queueOf(r.Group)[i].add(member{r.Weight, queued, r.Used, queued})
		}
		if s.rest > 0 {
			b.queues[nil][i].add(member{s.restWeight, s.rest, s.rest, s.rest})
		}
	}
	b.total = make(map[*Group]sum, len(b.queues))
	groups := make([]*Group, 0, len(b.queues)-1)
	for g := range b.queues {
		if g != nil {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(x, y *Group) int { return cmp.Compare(y.depth(), x.depth()) })
	for _, g := range groups { // those inside others first
		var total sum
		for i := range b.queues[g] {
			total.load += b.queues[g][i].load
			total.tasks += b.queues[g][i].tasks
		}
		b.total[g] = total
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

// A sum is what a group has on all CPUs.
type sum struct{ load, tasks float64 }

// entity is what a group counts as in the queue of the group above it. The kernel takes
// the weight queued at the moment here, and averages of some 100 ms elsewhere; piton takes
// the mean weight while any is queued here, and the mean of the window elsewhere.
func (b *board) entity(g *Group, i int) member {
	q := &b.queues[g][i]
	queued := q.present(b.slots[i].fair)
	if queued == 0 || q.load == 0 {
		return member{}
	}
	here := q.load / queued
	return member{b.weightOn(g, here, here+b.total[g].load-q.load, b.total[g].tasks), queued, q.used, q.tasks}
}

// weightOn is what a group weighs on a CPU with load here of its load on all CPUs. The
// kernel scales the group's weight by how many tasks it has, as the machine's mode says,
// and divides it among the CPUs by load (calc_group_shares, kernel/sched/fair.c).
func (b *board) weightOn(g *Group, here, everywhere, tasks float64) float64 {
	weight := g.Weight * b.groups.scale(tasks, len(b.slots))
	if b.groups == GroupsUp {
		return weight
	}
	return weight * here / everywhere
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
		elsewhere := 0.0
		if q, ok := b.queues[g]; ok {
			l.others, elsewhere = q[i], b.total[g].load-q[i].load
			if below != nil && b.queues[below] != nil {
				l.others.remove(b.entity(below, i))
			}
		}
		levels = append(levels, l)
		if g == nil {
			break
		}
		here := l.others.load + weight
		weight = b.weightOn(g, here, here+elsewhere, b.total[g].tasks+1)
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
