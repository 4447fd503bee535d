package coresview

import (
	"cmp"
	"slices"

	"piton/internal/model"
)

// levels are those at which the machine is divided differently, finest first.
func (v *View) levels() []model.MoveLevel {
	var out []model.MoveLevel
	for level := model.ByCPU; level <= model.ByNode; level++ {
		g := v.grouped(level)
		if g.Level == level && (len(out) == 0 || len(g.Groups) < len(v.grouped(out[len(out)-1]).Groups)) {
			out = append(out, level)
		}
	}
	return out
}

// cellOf is a cell with its number of moves.
type cellOf struct {
	i, j  int
	count uint32
}

// busiest ranks the cells that have any moves, most first.
func busiest(t *model.MoveTable, most int) []cellOf {
	var cells []cellOf
	n := len(t.Groups)
	least := uint32(0) // of those kept, once there are enough
	for i := range n {
		for j := range n {
			c := t.Count(i, j)
			if c <= least {
				continue
			}
			cells = append(cells, cellOf{i, j, c})
			if len(cells) >= 4*most {
				cells = rank(cells)[:most]
				least = cells[most-1].count
			}
		}
	}
	cells = rank(cells)
	return cells[:min(len(cells), most)]
}

func rank(cells []cellOf) []cellOf {
	slices.SortFunc(cells, func(a, b cellOf) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	return cells
}

// mostHot is how many of the busiest cells NextBusiest visits in turn.
const mostHot = 16
