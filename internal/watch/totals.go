package watch

import (
	"cmp"
	"maps"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
)

// Pair is a way from one CPU to another.
type Pair struct{ From, To cpuset.CPU }

// Totals adds batches up. The zero value is ready, but for Topo.
type Totals struct {
	Topo       *topology.Topology
	Moves      uint64 // all of them
	NoPair     uint64 // of these, those whose way is unknown
	NoTask     uint64 // of these, those whose task is unknown
	Unseen     uint64 // of these, those of which only the kernel's count of a thread tells
	Unfollowed uint64 // descendants that could not be watched
	ByDistance [topology.OtherNode + 1]uint64

	pairs map[Pair]uint64
	tasks map[kernel.TID]*TaskTotal
}

// TaskTotal is one thread's share.
type TaskTotal struct {
	TID, TGID kernel.TID
	Moves     uint64
}

// PairTotal is one way's share.
type PairTotal struct {
	Pair
	Distance topology.Distance
	Moves    uint64
}

// Add adds what a batch has.
func (t *Totals) Add(b *Batch) {
	if t.pairs == nil {
		t.pairs, t.tasks = map[Pair]uint64{}, map[kernel.TID]*TaskTotal{}
	}
	for i := range b.Moves {
		m := &b.Moves[i]
		t.count(Count{m.TID, m.TGID, m.From, m.To, 1})
	}
	for _, c := range b.Counts {
		t.count(c)
	}
	t.Unseen += b.Unseen
	t.Unfollowed += b.Unfollowed
}

func (t *Totals) count(c Count) {
	t.Moves += c.N
	if c.From == Unknown || c.To == Unknown {
		t.NoPair += c.N
	} else {
		t.pairs[Pair{c.From, c.To}] += c.N
		t.ByDistance[t.Topo.Distance(c.From, c.To)] += c.N
	}
	if c.TID == 0 {
		t.NoTask += c.N
		return
	}
	task := t.tasks[c.TID]
	if task == nil {
		task = &TaskTotal{TID: c.TID, TGID: c.TGID}
		t.tasks[c.TID] = task
	}
	task.Moves += c.N
}

// Pairs returns the ways that were taken, the one taken most first.
func (t *Totals) Pairs() []PairTotal {
	out := make([]PairTotal, 0, len(t.pairs))
	for p, n := range t.pairs {
		out = append(out, PairTotal{p, t.Topo.Distance(p.From, p.To), n})
	}
	slices.SortFunc(out, func(a, b PairTotal) int {
		return cmp.Or(cmp.Compare(b.Moves, a.Moves), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

// Tasks returns the threads that moved, the one that moved most first.
func (t *Totals) Tasks() []TaskTotal {
	out := make([]TaskTotal, 0, len(t.tasks))
	for task := range maps.Values(t.tasks) {
		out = append(out, *task)
	}
	slices.SortFunc(out, func(a, b TaskTotal) int {
		return cmp.Or(cmp.Compare(b.Moves, a.Moves), cmp.Compare(a.TID, b.TID))
	})
	return out
}
