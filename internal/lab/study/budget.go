package study

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/group"
	"piton/internal/paper"
)

// size is cells that are compared with each other, so each round measures all of them.
type size struct {
	// published sizes are measured as well as larger ones; others only where nothing larger fits.
	published bool
	ways      [][]cell // the same with fewer and fewer cells; the first that fits is measured
}

// alternatives are sizes of which one is measured; the first scale is the published one.
func alternatives[S any](scales []S, cells func(m paper.Machine, scale S) []cell) func(paper.Machine) []size {
	return func(m paper.Machine) []size {
		return group.Each(scales, func(scale S) size { return size{ways: [][]cell{cells(m, scale)}} })
	}
}

const (
	// mostRounds of a cell are made: then intervals are hardly narrower for more.
	mostRounds = 30
	// verdictRounds are what a verdict takes in every cell of most studies: the rank test of up
	// to 23 comparisons, and the interval of a median.
	verdictRounds = 6
	// ownRounds are enough for studies that compare nothing: a run has all of their figures.
	ownRounds = 3
	// plannedShare is the part of the time that sizes are chosen for: costs are estimates.
	plannedShare = 0.95
	// surelyShort is the estimated time of a run, in seconds, below which its size is left out: it
	// would be too short to judge (50 ms), and the estimate is a rough one.
	surelyShort = 0.04
)

// needed is how many rounds a verdict takes in every cell.
func (p Paper) needed() int { return cmp.Or(p.rounds, verdictRounds) }

// share is the paper's share of a time that it has with some papers.
func (p Paper) share(of []Paper, d time.Duration) time.Duration {
	all := 0.0
	for _, q := range of {
		all += q.weight
	}
	return time.Duration(float64(d) * p.weight / all)
}

// choose returns the cells of the largest sizes of which enough rounds for a verdict fit into so
// many seconds, the largest first; where none fits, those of the smallest that can be judged, and
// how many seconds it would take. Of cells that are made whole, one is enough.
func (p Paper) choose(m paper.Machine, seconds, work, start float64) (out []cell, lacking float64) {
	sizes := p.sizes(m)
	for i := 1; i < len(sizes); i++ {
		if cheapest(sizes[i].ways[0]).cost*work < surelyShort {
			sizes = sizes[:i]
		}
	}
	for i, s := range sizes {
		if len(out) > 0 && !s.published {
			break
		}
		for k, way := range s.ways {
			takes := 0.0
			for _, c := range way {
				takes += float64(p.needed()) * c.seconds(work, start)
			}
			last := i == len(sizes)-1 && k == len(s.ways)-1 && len(out) == 0
			if takes > seconds && !last {
				continue
			}
			least := takes
			if p.whole {
				least = cheapest(way).seconds(work, start)
			}
			if out = append(out, way...); last && least > seconds {
				return out, least
			}
			seconds -= takes
			break
		}
	}
	return out, 0
}

func cheapest(cells []cell) cell {
	return slices.MinFunc(cells, func(a, b cell) int { return cmp.Compare(a.cost, b.cost) })
}

// seconds is about how long a round of the cell takes. Background load takes half of what the
// kernel shares out, and nothing of what real-time tasks take.
func (c cell) seconds(work, start float64) float64 {
	sum := 0.0
	for _, p := range c.study.Placements {
		one := c.cost * work
		if spec, _ := bench.ParsePlacement(string(p)); c.study.Noise > 0 && spec.RTPrio == 0 {
			one *= 2
		}
		sum += one + start
	}
	return sum
}

// roomy is a round budget for what is estimated to take so many seconds.
func roomy(seconds float64) time.Duration {
	d, step := time.Duration(1.25*seconds*float64(time.Second)), 10*time.Second
	if d > 2*time.Minute {
		step = time.Minute
	}
	return (d + step - 1).Truncate(step)
}

// lacks is a budget of a paper alone in which it gets a verdict in all cells of a size, by how long
// their rounds took, and longer than all of them together; 0 where it has one, and where nothing is
// known of the time.
func (p Paper) lacks(m paper.Machine, all []bench.Results) time.Duration {
	least, spent := 0.0, 0.0
	for _, group := range p.groups(m, all) {
		sum, longest, longer, missing := 0.0, 0.0, 1.0, false // longer: by how much runs had to be to be judged
		took, has := roundTook, bench.Results.Rounds
		if p.whole {
			took = func(r bench.Results) float64 { return r.Took().Seconds() }
			has = func(r bench.Results) int { return len(r.Runs) }
		}
		for _, i := range group {
			longest = max(longest, took(all[i]))
			for _, run := range all[i].Runs {
				spent += run.Wall.Seconds()
				if p.needed() > ownRounds && run.Seconds > 0 && run.Seconds < bench.TooShort {
					missing, longer = true, max(longer, bench.TooShort/run.Seconds)
				}
			}
		}
		for _, i := range group {
			missing = missing || has(all[i]) < p.needed()
			sum += longer * float64(p.needed()) * cmp.Or(took(all[i]), longest)
		}
		if !missing {
			return 0
		}
		if sum > 0 && (least == 0 || sum < least) {
			least = sum
		}
	}
	if least == 0 {
		return 0
	}
	return roomy(max(least, 1.5*spent) / plannedShare)
}

func roundTook(r bench.Results) (seconds float64) {
	for _, run := range r.Runs {
		seconds += run.Wall.Seconds() / float64(max(r.Rounds(), 1))
	}
	return seconds
}

// next is the cell whose next round is made when so many seconds are left, -1 when none is. Cells
// of a size have their rounds in turn. The largest size that still gets a verdict comes first,
// then further rounds of sizes that have one, then what is left of others; the first round of the
// smallest size is made anyway, which was chosen for it.
func (r *Run) next(p Paper, seconds float64) int {
	groups, need := p.groups(r.o.Machine, r.Results), p.needed()
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

func (p Paper) cells(all []bench.Results) (out []int) {
	for i, c := range all {
		if strings.HasPrefix(c.Study.Cell, p.Name+" ") {
			out = append(out, i)
		}
	}
	return out
}

// groups are the paper's cells by their size, the largest first, and then those that an earlier
// piton began and that are of none.
func (p Paper) groups(m paper.Machine, all []bench.Results) [][]int {
	sizes := p.sizes(m)
	out := make([][]int, len(sizes)+1)
	for _, i := range p.cells(all) {
		n := slices.IndexFunc(sizes, func(s size) bool {
			return slices.ContainsFunc(s.ways[0], func(c cell) bool { return p.Name+" "+c.key == all[i].Study.Cell })
		})
		if n < 0 {
			n = len(sizes)
		}
		out[n] = append(out[n], i)
	}
	return slices.DeleteFunc(out, func(g []int) bool { return len(g) == 0 })
}
