package place

import (
	"cmp"
	"math"
	"slices"
)

// A queue is what competes in one group for one CPU: tasks, and the groups
// inside it as one entity each.
type queue struct {
	load   float64 // weight times share of the time in which it is queued, summed
	tasks  crowd   // those in the groups inside it included
	absent float64 // log of the chance that none is queued, if each comes at random
}

// mostQueued is the most of the time that counts, to stay in the range of log.
const mostQueued = 1 - 1e-9

// A member is what competes in a queue: a task, or a group as one.
type member struct {
	weight float64
	queued float64 // share of the time
	tasks  crowd
}

func (q *queue) add(m member) {
	q.load += m.weight * m.queued
	q.tasks.add(m.tasks)
	q.absent += math.Log1p(-min(m.queued, mostQueued))
}

// present is the share of the time in which any of them is queued.
func (q *queue) present() float64 { return -math.Expm1(q.absent) }

// weigh fills the queues of all groups from the tasks that stay and those placed.
func (b *board) weigh() {
	b.queues = map[*Group][]queue{nil: make([]queue, len(b.slots))}
	for i := range b.slots {
		s := &b.slots[i]
		for k := range s.rivals {
			r := &s.rivals[k]
			queued := min(r.Queued, s.avail)
			b.queueOf(r.Group)[i].add(member{r.Weight, queued, crowdOf(r.Queued)})
		}
		if s.rest > 0 {
			b.queues[nil][i].add(member{s.restWeight, s.rest, crowdOf(s.rest)})
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
			total.tasks.add(b.queues[g][i].tasks)
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
type sum struct {
	load  float64
	tasks crowd
}

// entity is what a group counts as in the queue of the group above it. The kernel takes
// the weight queued at the moment here, and averages of some 100 ms elsewhere; piton takes
// the mean weight while any is queued here, and the mean of the window elsewhere.
func (b *board) entity(g *Group, i int) member {
	q := &b.queues[g][i]
	return b.asOne(g, q, sum{b.total[g].load - q.load, b.total[g].tasks})
}

// asOne is what a group with a queue counts as, of which the load elsewhere and the tasks
// everywhere are known.
func (b *board) asOne(g *Group, q *queue, of sum) member {
	queued := q.present()
	if q.load == 0 {
		return member{}
	}
	here := q.load / queued
	return member{b.weightOn(g, here, here+of.load, of.tasks), queued, q.tasks}
}

// weightOn is what a group weighs on a CPU with load here of its load on all CPUs. The
// kernel scales the group's weight by how many tasks it has, as the machine's mode says,
// and divides it among the CPUs by load (calc_group_shares, kernel/sched/fair.c).
func (b *board) weightOn(g *Group, here, everywhere float64, tasks crowd) float64 {
	weight := g.Weight * b.groups.scale(tasks, len(b.slots))
	if b.groups != GroupsUp {
		weight *= here / everywhere
	}
	return max(weight, leastGroup)
}

// leastGroup is the least weight of a group on a CPU (MIN_SHARES, kernel/sched/sched.h).
const leastGroup = 2

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
