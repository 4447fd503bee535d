package model

import (
	"cmp"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology"
)

// Mover is one task's moves in a window.
type Mover struct {
	TID   kernel.TID
	Count uint32
	CPUs  int // distinct ones that it moved from or to
	// A and B are the pair of CPUs with most of its moves: Out from A to B, Back
	// from B to A, and Out is not less than Back.
	A, B      cpuset.CPU
	Out, Back uint32
	Class     topology.Distance // of most of its moves
}

// Movers ranks the tasks that moved over the newest ticks that cover span, most
// moves first, at most `most` of them, and says how long those ticks took.
func (w *MoveWindow) Movers(span time.Duration, g *MoveGroups, most int) ([]Mover, time.Duration) {
	ticks, took := w.over(span)
	total := map[int32]uint32{}
	for i := range ticks {
		for _, e := range ticks[i].moves {
			total[e.tid] += e.count
		}
	}
	delete(total, 0) // tasks that were forgotten
	out := make([]Mover, 0, len(total))
	for tid, n := range total {
		out = append(out, Mover{TID: kernel.TID(tid), Count: n})
	}
	slices.SortFunc(out, func(a, b Mover) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.TID, b.TID))
	})
	out = out[:min(len(out), most)]
	pairs := make(map[int32]map[[2]uint16]uint32, len(out))
	for i := range out {
		pairs[int32(out[i].TID)] = map[[2]uint16]uint32{}
	}
	for i := range ticks {
		for _, e := range ticks[i].moves {
			if p := pairs[e.tid]; p != nil {
				p[[2]uint16{e.from, e.to}] += e.count
			}
		}
	}
	for i := range out {
		out[i].describe(pairs[int32(out[i].TID)], g)
	}
	return out, took
}

// describe finds the main pair, the number of CPUs and the main class.
func (m *Mover) describe(pairs map[[2]uint16]uint32, g *MoveGroups) {
	var classes [topology.OtherNode + 1]uint32
	cpus := map[uint16]bool{}
	best := uint32(0)
	for p, n := range pairs {
		classes[between(g.at(p[0]), g.at(p[1]))] += n
		cpus[p[0]], cpus[p[1]] = true, true
		back := pairs[[2]uint16{p[1], p[0]}]
		if n < back || n == back && p[0] > p[1] {
			continue // the pair is judged once, in its main direction
		}
		a, b := cpuset.CPU(p[0]), cpuset.CPU(p[1])
		if sum := n + back; sum > best || sum == best && (a < m.A || a == m.A && b < m.B) { // map order must not show
			m.A, m.B, m.Out, m.Back, best = a, b, n, back, sum
		}
	}
	m.CPUs = len(cpus)
	most := uint32(0)
	for class, n := range classes {
		if n > most {
			m.Class, most = topology.Distance(class), n
		}
	}
}
