package corepanel

import (
	"cmp"
	"slices"

	"piton/internal/cpuset"
)

type spot struct {
	x, y, w int
	cpu     cpuset.CPU // -1: all of the group
	group   *group
	again   bool // a second line of the same CPU
	off     bool // on another page
}

// At returns the CPUs that the last rendering shows at a cell of the panel: one,
// or those of the group whose label is there. It is empty where there are none.
func (p *Panel) At(x, y int) cpuset.Set {
	var found cpuset.Set
	for _, s := range p.spots {
		if !s.off && y == s.y && x >= s.x && x < s.x+s.w {
			if s.cpu >= 0 {
				return cpuset.Of(s.cpu)
			}
			found = s.group.set
		}
	}
	return found
}

// Step returns the CPU beside another one as the last rendering shows them; the
// same when there is none in that direction, or when the panel is not drawn. One
// of dx and dy is -1 or 1.
func (p *Panel) Step(from cpuset.CPU, dx, dy int) cpuset.CPU {
	cells := p.cells()
	i := slices.IndexFunc(cells, func(s spot) bool { return s.cpu == from })
	if i < 0 {
		return p.byNumber(from, dx+dy)
	}
	// In a grid a row goes on in the next one; in lines a column does.
	if along := dx; p.grid && along != 0 || !p.grid && dy != 0 {
		return cells[max(0, min(i+dx+dy, len(cells)-1))].cpu
	}
	here, best := cells[i], -1
	for j, s := range cells {
		if way := (s.x-here.x)*dx + (s.y-here.y)*dy; way > 0 && (best < 0 || nearer(here, s, cells[best], dx != 0)) {
			best = j
		}
	}
	if best < 0 {
		return from
	}
	return cells[best].cpu
}

// nearer reports whether a is nearer to here than b: first in the direction of
// the step, across columns or across rows, then beside it.
func nearer(here, a, b spot, across bool) bool {
	ax, ay, bx, by := abs(a.x-here.x), abs(a.y-here.y), abs(b.x-here.x), abs(b.y-here.y)
	if across {
		return cmp.Or(cmp.Compare(ax, bx), cmp.Compare(ay, by)) < 0
	}
	return cmp.Or(cmp.Compare(ay, by), cmp.Compare(ax, bx)) < 0
}

func abs(n int) int { return max(n, -n) }

// cells are the spots of single CPUs in the order in which they were drawn.
func (p *Panel) cells() []spot {
	var out []spot
	for _, s := range p.spots {
		if s.cpu >= 0 && !s.again {
			out = append(out, s)
		}
	}
	return out
}

// byNumber steps over the online CPUs where no picture says which is beside
// which.
func (p *Panel) byNumber(from cpuset.CPU, by int) cpuset.CPU {
	if p.topo == nil {
		return from
	}
	all := p.topo.Online.CPUs()
	i, ok := slices.BinarySearch(all, from)
	if !ok || i+by < 0 || i+by >= len(all) {
		return from
	}
	return all[i+by]
}

// Page turns to another page of a grid that has several, and reports whether it has.
func (p *Panel) Page(by int) bool {
	if p.pages < 2 {
		return false
	}
	p.page, p.lines = p.page+by, nil
	return true
}
