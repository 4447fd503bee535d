package paper

import (
	"cmp"
	"slices"

	"piton/internal/bench"
)

// size is cells that are compared with each other, so each round measures all of them.
type size struct {
	// published sizes are measured as well as larger ones; others only where nothing larger fits.
	published bool
	ways      [][]cell // the same with fewer and fewer cells; the first that fits is measured
}

// alternatives are sizes of which one is measured; scale 0 is the published one.
func alternatives(scales int, cells func(m Machine, scale int) []cell) func(Machine) []size {
	return func(m Machine) (out []size) {
		for scale := range scales {
			out = append(out, size{ways: [][]cell{cells(m, scale)}})
		}
		return out
	}
}

const (
	// mostRounds of a cell are made.
	mostRounds = 10
	// verdictRounds are what a verdict takes in every cell of most studies: the rank test of up
	// to 23 comparisons, and the interval of a median.
	verdictRounds = 6
	// ownRounds are enough for studies that compare nothing: a run has all of their figures.
	ownRounds = 3
	// plannedShare is the part of the time that sizes are chosen for: costs are estimates.
	plannedShare = 0.9
	// surelyShort is the estimated time of a run, in seconds, below which its size is left out: it
	// would be too short to judge (50 ms), and the estimate is a rough one.
	surelyShort = 0.04
)

// needed is how many rounds a verdict takes in every cell.
func (p Paper) needed() int {
	switch {
	case p.made != nil:
		return 1
	case p.rounds > 0:
		return p.rounds
	}
	return verdictRounds
}

// choose returns the cells of the largest sizes of which enough rounds for a verdict fit into so
// many seconds, the largest first; where none fits, those of the smallest that can be judged.
func (p Paper) choose(m Machine, seconds, work, start float64) []cell {
	var out []cell
	sizes := p.sizes(m)
	for i := 1; i < len(sizes); i++ {
		if shortest(sizes[i].ways[0])*work < surelyShort {
			sizes = sizes[:i]
		}
	}
	for i, s := range sizes {
		if len(out) > 0 && !s.published {
			break
		}
		for k, way := range s.ways {
			takes := float64(p.needed()) * roundTime(way, work, start)
			last := i == len(sizes)-1 && k == len(s.ways)-1
			if takes <= seconds || last && len(out) == 0 {
				out, seconds = append(out, way...), seconds-takes
				break
			}
		}
	}
	return out
}

func shortest(cells []cell) float64 {
	return slices.MinFunc(cells, func(a, b cell) int { return cmp.Compare(a.cost, b.cost) }).cost
}

func roundTime(cells []cell, work, start float64) float64 {
	sum := 0.0
	for _, c := range cells {
		sum += c.seconds(work, start)
	}
	return sum
}

// seconds is about how long a round of the cell takes. Background load takes half of what the
// kernel shares out, and nothing of what real-time tasks take.
func (c cell) seconds(work, start float64) float64 {
	sum := 0.0
	for _, p := range c.study.Placements {
		one := c.cost * work
		if spec, _ := bench.ParsePlacement(string(p)); c.study.Noise > 0 && (spec.Policy == nil || spec.Policy.RTPrio == 0) {
			one *= 2
		}
		sum += one + start
	}
	return sum
}

// next is the cell whose next round is made when so many seconds are left, -1 when none is. Cells
// of a size have their rounds in turn. The largest size that still gets a verdict comes first,
// then further rounds of sizes that have one, then what is left of others; the first round of the
// smallest size is made anyway, which was chosen for it.
func (r *Run) next(p Paper, seconds float64) int {
	groups, need := r.groups(p), p.needed()
	rounds := func(i int) int { return r.Results[i].Rounds() }
	first := func(group []int) int {
		return slices.MinFunc(group, func(a, b int) int { return cmp.Compare(rounds(a), rounds(b)) })
	}
	for _, step := range []struct{ from, below, goal int }{{0, need, need}, {need, mostRounds, 0}, {1, need, 0}} {
		for _, group := range groups {
			i, takes := first(group), 0.0
			for _, k := range group {
				takes += r.costs[r.Results[k].Study.Cell] * float64(max(step.goal-rounds(k), rounds(i)+1-rounds(k), 0))
			}
			if rounds(i) >= step.from && rounds(i) < step.below && takes <= seconds {
				return i
			}
		}
	}
	if len(groups) > 0 && !slices.ContainsFunc(groups, func(g []int) bool { return rounds(first(g)) > 0 }) {
		return first(groups[len(groups)-1])
	}
	return -1
}

// groups are the cells of a paper by their size, the largest first, and then those that an earlier
// piton began and that are of none.
func (r *Run) groups(p Paper) [][]int {
	sizes := p.sizes(r.o.Machine)
	out := make([][]int, len(sizes)+1)
	for _, i := range r.missing(p, func(bench.Results) bool { return true }) {
		n := slices.IndexFunc(sizes, func(s size) bool {
			return slices.ContainsFunc(s.ways[0], func(c cell) bool { return p.Name+" "+c.key == r.Results[i].Study.Cell })
		})
		if n < 0 {
			n = len(sizes)
		}
		out[n] = append(out[n], i)
	}
	return slices.DeleteFunc(out, func(g []int) bool { return len(g) == 0 })
}
