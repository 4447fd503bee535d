package place

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/topology"
)

// What counts how much, on the scale of slot.slowdown. They were set so that the
// order of DESIGN's list comes out: a busy CPU is worse than a busy sibling, that
// is worse than a slower core, and the rest decides between CPUs that are alike.
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
	// sharedCPU: the tasks already there, however little they weigh, lose what the
	// newcomer gets, and all lose cache. It is just enough to make an idle CPU better
	// than one full of nice 19.
	sharedCPU = 0.03
	// pinnedTask: its load may come back and cannot be moved out of the way.
	pinnedTask = 0.05
	pinnedMost = 0.25
	// tolerance is a difference of costs that means nothing: a window of 250 ms resolves
	// 4 % of the time. toleranceShare is the same as a part of the cost: two windows of
	// the same tasks differ by as much.
	tolerance      = 0.04
	toleranceShare = 0.05
	// stayShare is that for leaving the CPU where a target is, of two; see stayAmong.
	stayShare = 0.075
	// ownError is by how much a target's own share may be under-estimated; without
	// it a task alone on its core would be driven off by the remainder.
	ownError = 0.1
	// idleBelow is the load up to which a CPU is called idle.
	idleBelow = 0.05
)

// slot is one CPU that tasks can be put on.
type slot struct {
	cpu        *topology.CPU
	load       Load
	own        float64 // the targets' own share that was taken off
	busy       float64 // share of the CPU that others use: own shares off, placed targets on
	demand     float64 // busy, and what others waited
	avail      float64 // share of the CPU that is left by others' real time, interrupts and steal
	rivals     []Rival // those of the fair class, and the targets placed here
	rest       float64 // what the fair class used and no rival explains
	restWeight float64 // what that weighs in the root group
	share      float64 // see board.share; of the target that is being placed
	siblings   []int   // slots of the SMT siblings, those without load data left out
	placed     int     // targets placed here so far
}

// board is the machine while targets are placed on it.
type board struct {
	topo     *topology.Topology
	slots    []slot // online CPUs of which the load is known, by number
	at       []int  // slot by CPU number, -1 for none
	within   cpuset.Set
	isolated bool               // isolated CPUs may be used
	queues   map[*Group][]queue // by slot, see weigh
	total    map[*Group]sum     // of a group on all CPUs
	groups   GroupMode
	contest  contest // reused by share
}

func newBoard(r Request) *board {
	b := &board{topo: r.Topology, within: r.Within, isolated: r.AllowIsolated, groups: r.Groups}
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
	b.attribute(slices.Concat(r.Targets, r.Ignored))
	b.weigh()
	return b
}

// fill makes the slots: online CPUs that have a load.
func (b *board) fill(loads []Load) {
	known := make([]*Load, len(b.at))
	for i := range loads {
		l := &loads[i]
		if int(l.CPU) < len(known) && l.CPU >= 0 && !math.IsNaN(l.Busy) {
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
		s := slot{cpu: c, load: *l}
		s.load.Busy = max(l.Busy, min(1, l.Fixed))
		b.slots = append(b.slots, s)
	}
}

// cost is how bad a slot is for the target being placed: what its work takes
// longer there.
func (b *board) cost(i int, t *Target) float64 {
	s := &b.slots[i]
	sibling := 0.0
	for _, o := range s.siblings {
		sibling += b.slots[o].busy
	}
	cost := s.slowdown() + sharedCPU*s.busy + min(siblingMost, siblingWeight*sibling) + min(pinnedMost, pinnedTask*float64(s.load.Pinned))
	if s.cpu.Kind == topology.KindEfficiency && t.BusyShare >= cpuBound {
		cost += slowCore
	}
	return cost
}

// stayAmong is stayShare for so many CPUs. The lowest of n readings that differ by chance is
// expected some sqrt(2 ln n) standard deviations below their mean.
func stayAmong(cpus int) float64 { return stayShare * math.Sqrt(math.Log2(float64(max(2, cpus)))) }

// alike reports whether a slot is as good for a target as one of a lower cost, the lowest
// among so many.
func (b *board) alike(i int, t *Target, lower float64, among int) bool {
	part := toleranceShare
	if b.slots[i].cpu.ID == t.LastCPU {
		part = stayAmong(among)
	}
	return b.cost(i, t) <= lower+tolerance+part*lower
}

// take puts a target on some slots, in equal parts.
func (b *board) take(slots []int, t *Target) cpuset.Set {
	var cpus cpuset.Builder
	part := min(1, t.BusyShare/float64(len(slots)))
	for _, i := range slots {
		s := &b.slots[i]
		s.placed++
		cpus.Add(s.cpu.ID)
		s.busy = min(1, s.busy+part)
		if t.RealTime {
			s.avail = max(0, s.avail-part)
			continue
		}
		// It wants as much as it used, and gets its part of that.
		used := min(part, b.share(t, i))
		s.rivals = append(s.rivals, Rival{TID: t.TID, Used: used, Queued: part, Weight: t.weight(), Group: t.Group})
	}
	b.weigh()
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

// limit is where a target can be put.
type limit struct {
	slots   []int
	warning string
	err     error // why there is no slot
}

// candidates are the slots that a target may use: its cpuset, online, within
// the user's limit, not isolated unless nothing else is left or it was asked
// for, and without a busy real-time task, behind which it would starve.
func (b *board) candidates(t *Target) limit {
	online := b.topo.Online
	allowed := t.Allowed.And(online)
	switch {
	case t.Allowed.Empty():
		return limit{err: errors.New("its cpuset leaves it no CPU")}
	case allowed.Empty():
		return limit{err: fmt.Errorf("no CPU that it may use (%s) is online (online: %s)", t.Allowed, online)}
	}
	if !b.within.Empty() {
		switch inside := allowed.And(b.within); {
		case b.within.And(online).Empty():
			return limit{err: fmt.Errorf("no CPU of %s is online (online: %s)", b.within, online)}
		case inside.Empty():
			return limit{err: fmt.Errorf("its cpuset leaves no CPU of %s, it may use %s", b.within, allowed)}
		default:
			allowed = inside
		}
	}
	out := limit{}
	if !b.isolated {
		if ordinary := allowed.AndNot(b.topo.Isolated); !ordinary.Empty() {
			allowed = ordinary
		} else {
			out.warning = fmt.Sprintf("only isolated CPUs are left (%s)", allowed)
		}
	}
	out.slots, out.err = b.usable(allowed)
	return out
}

// usable are the slots of a set without those of busy real-time tasks.
func (b *board) usable(allowed cpuset.Set) ([]int, error) {
	var out []int
	rt := false
	for i := range b.slots {
		switch s := &b.slots[i]; {
		case !allowed.Has(s.cpu.ID):
		case s.load.RTBusy:
			rt = true
		default:
			out = append(out, i)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case rt:
		return nil, fmt.Errorf("a busy real-time task runs on each of %s, it would starve there", allowed)
	}
	return nil, fmt.Errorf("the load of %s has not been measured", allowed.InWords())
}
