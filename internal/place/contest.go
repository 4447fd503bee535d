package place

import "math"

// A contest is a slot's tasks with a target among them that always wants to run: how
// the CPU is then divided. A rival works for some time of the CPU and sleeps, over and
// over. With a newcomer it waits longer for its turns, so that it comes to fewer of
// them, but it sleeps as long after each as before: what it sleeps for each second of
// work is its own, whoever runs beside it.
//
//	used = 1 / (stretch + sleep)   of the time, with sleep = (1 - queued) / used
//
// The stretch is how much longer than alone on the CPU a task is at its work: by the
// weights of those who are queued at the same time, in each group from its own to the
// root. How long others are queued follows from their stretch in turn, so that all are
// found together, step by step.
type contest struct {
	tasks  []contender // the target is the first
	groups []inGroup   // the root is the first, and each comes after that which it is in
}

// contender is a task of a contest.
type contender struct {
	weight  float64
	group   int     // index of contest.groups
	sleep   float64 // for each second of work
	waited  float64 // the stretch that was measured: with one more it is no less
	stretch float64
	queued  float64 // share of the time
	there   float64 // how much it is one that is always there
	used    float64 // share of the CPU
}

// inGroup is a group with tasks in a contest.
type inGroup struct {
	group  *Group
	parent int // index of contest.groups
	of     sum // its load elsewhere, its tasks everywhere
	queue  queue
	entity member // what it counts as in the parent's queue
}

// Steps end when no share of the CPU changes by more than settled.
const (
	settled  = 5e-4
	maxSteps = 60
)

// share is the estimate that everything is decided by: which share of a CPU a
// target would get on a slot if it always wanted to run.
func (b *board) share(t *Target, i int) float64 {
	s := &b.slots[i]
	if t.RealTime || s.avail == 0 {
		return s.avail
	}
	c := &b.contest
	c.tasks, c.groups = c.tasks[:0], append(c.groups[:0], inGroup{})
	c.add(b, i, t.weight(), t.Group, 0, 1)
	for k := range s.rivals {
		if r := &s.rivals[k]; r.Queued > 0 {
			queued := min(1, r.Queued)
			c.add(b, i, r.Weight, r.Group, (1-queued)*s.avail/max(r.Used, leastUsed), queued)
			if r.Used > leastUsed {
				c.tasks[len(c.tasks)-1].waited = queued * s.avail / r.Used
			}
		}
	}
	if rest := min(1, s.rest/s.avail); rest > 0 {
		c.add(b, i, s.restWeight, nil, (1-rest)/rest, rest)
	}
	for g := c.tasks[0].group; g > 0; g = c.groups[g].parent {
		c.groups[g].of.tasks.steady++
	}
	return s.avail * c.divide(b)
}

// leastUsed keeps the sleep of one that hardly ran finite.
const leastUsed = 1e-6

func (c *contest) add(b *board, slot int, weight float64, g *Group, sleep, queued float64) {
	c.tasks = append(c.tasks, contender{weight: weight, group: c.index(b, slot, g), sleep: sleep, queued: queued})
}

// index finds a group or adds it and those that it is in.
func (c *contest) index(b *board, slot int, g *Group) int {
	for i := range c.groups {
		if c.groups[i].group == g {
			return i
		}
	}
	in := inGroup{group: g, parent: c.index(b, slot, g.Parent)}
	if q, ok := b.queues[g]; ok {
		in.of = sum{b.total[g].load - q[slot].load, b.total[g].tasks}
	}
	c.groups = append(c.groups, in)
	return len(c.groups) - 1
}

// divide returns what the first gets of the time that there is.
func (c *contest) divide(b *board) float64 {
	for range maxSteps {
		c.weigh(b)
		for i := range c.tasks {
			t := &c.tasks[i]
			t.stretch = c.stretch(b, t)
			t.there = t.queued * t.queued * t.queued * t.queued
		}
		scale, change := c.fill(), 0.0
		for i := range c.tasks {
			t := &c.tasks[i]
			used, _ := t.share(scale)
			change = max(change, math.Abs(used-t.used))
			t.used, t.queued = used, max(0, 1-used*t.sleep)
		}
		if change < settled {
			break
		}
	}
	return c.tasks[0].used
}

// fill returns the scale that makes the shares of the tasks sum to one.
//
// The stretch is right for a task that comes and goes: it finds as many as are queued on
// the mean. One that is always there has most of its time while they are away, so that
// together all would leave time unused, and it goes to those who are there.
func (c *contest) fill() float64 {
	scale, low, high := 1.0, 0.0, math.Inf(1)
	for range maxSteps {
		total, slope := 0.0, 0.0
		for i := range c.tasks {
			used, by := c.tasks[i].share(scale)
			total, slope = total+used, slope+by
		}
		if math.Abs(total-1) < settled {
			break
		}
		if total > 1 {
			low = scale
		} else {
			high = scale
		}
		scale += (total - 1) / slope
		switch {
		case scale > low && scale < high:
		case math.IsInf(high, 1):
			scale = 2 * low
		default:
			scale = (low + high) / 2
		}
	}
	return scale
}

// share is what a task gets of the CPU with a scale, and how fast that falls with it.
func (t *contender) share(scale float64) (used, slope float64) {
	stretch := t.stretch * (1 - t.there + t.there*scale)
	if stretch < t.waited {
		return 1 / (t.waited + t.sleep), 0
	}
	used = 1 / (stretch + t.sleep)
	return used, used * used * t.stretch * t.there
}

// weigh fills the queues.
func (c *contest) weigh(b *board) {
	for i := range c.groups {
		c.groups[i].queue = queue{}
	}
	for i := range c.tasks {
		t := &c.tasks[i]
		c.groups[t.group].queue.add(member{t.weight, t.queued, crowdOf(t.queued)})
	}
	for i := len(c.groups) - 1; i > 0; i-- {
		g := &c.groups[i]
		g.entity = b.asOne(g.group, &g.queue, g.of)
		c.groups[g.parent].queue.add(g.entity)
	}
}

// stretch is how much longer than alone a task is at its work.
func (c *contest) stretch(b *board, t *contender) float64 {
	in := &c.groups[t.group]
	weight, others := t.weight, in.queue.load-t.weight*t.queued
	stretch := 1 + others/weight
	for in.group != nil {
		here := others + weight
		weight = b.weightOn(in.group, here, here+in.of.load, in.of.tasks)
		below := in.entity
		in = &c.groups[in.parent]
		others = max(0, in.queue.load-below.weight*below.queued)
		stretch *= 1 + others/weight
	}
	return stretch
}
