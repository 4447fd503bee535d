package sample

import (
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// mostMerged bounds each list of what samples that nobody took hold: 4 MB of
// moves, 3 MB of steps, 9 MB of run intervals. A single sample may hold more.
const mostMerged = 1 << 17

// takeIn adds to a sample that nobody has yet what happened before it, by the
// sample that it replaces: to the reader it is the one after that which he took,
// and its rates are of all the time between.
func (n *Sample) takeIn(older *Sample) {
	if n.HaveMoves && older.HaveMoves {
		left := merge(&n.Moves, older.Moves, Move.key, (*Move).add)
		n.MovesLost += older.MovesLost
		for _, m := range left {
			n.MovesLost += uint64(m.Count)
		}
	}
	left := merge(&n.RunIntervals, older.RunIntervals, RunInterval.key, (*RunInterval).add)
	n.RunIntervalsLost += older.RunIntervalsLost
	for _, s := range left {
		n.RunIntervalsLost += s.Times
	}
	n.WaitsLost += older.WaitsLost // of Waits the newest are what is looked at
	takeInWakes(&n.Wakes, &older.Wakes)
	takeInFlows(&n.Flows, &older.Flows)
	if n.Traced != 0 && n.Traced == older.Traced { // the newest are what is looked at
		lost := min(max(len(older.Steps)+len(n.Steps)-mostMerged, 0), len(older.Steps))
		n.Steps = slices.Concat(older.Steps[lost:], n.Steps)
		n.StepsLost += older.StepsLost + uint64(lost)
	}
}

// merge adds older entries to those of a list that have the same key, appends the
// others, and returns those for which there is no room.
func merge[T any, K comparable](list *[]T, older []T, key func(T) K, add func(to *T, from T)) (left []T) {
	if len(older) == 0 {
		return nil
	}
	at := make(map[K]int, len(*list)+len(older))
	for i, v := range *list {
		at[key(v)] = i
	}
	for _, v := range older {
		switch i, there := at[key(v)]; {
		case there:
			add(&(*list)[i], v)
		case len(*list) >= mostMerged:
			left = append(left, v)
		default:
			at[key(v)] = len(*list)
			*list = append(*list, v)
		}
	}
	return left
}

func (m Move) key() Move {
	m.Count = 0
	return m
}

func (m *Move) add(from Move) { m.Count += from.Count }

type runKey struct {
	cpu    cpuset.CPU
	kind   RunKind
	tid    kernel.TID
	number int
}

func (s RunInterval) key() runKey { return runKey{s.CPU, s.Kind, s.TID, s.Number} }

// add keeps the name, which is the newer one.
func (s *RunInterval) add(from RunInterval) {
	if s.Name == "" {
		s.Name = from.Name
	}
	s.RunNs += from.RunNs
	s.WaitNs += from.WaitNs
	s.LongestNs = max(s.LongestNs, from.LongestNs)
	s.Times += from.Times
}
