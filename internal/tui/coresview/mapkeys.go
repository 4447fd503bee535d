package coresview

import (
	"cmp"
	"slices"

	"piton/internal/model"
)

// mapKey moves over the cells and opens what is behind them.
func (v *View) mapKey(key string) bool {
	g := v.grouped(v.shown)
	i, j := v.cell(g)
	last := len(g.Groups) - 1
	switch key {
	case "up", "k":
		i--
	case "down", "j":
		i++
	case "left":
		j--
	case "right":
		j++
	case "pgup":
		i -= max(v.page-1, 1)
	case "pgdown":
		i += max(v.page-1, 1)
	case "home", "g":
		i, j = 0, 0
	case "end", "G":
		i, j = last, last
	case "n":
		v.nextHottest()
		return true
	default:
		return v.openKey(key, g, i)
	}
	v.hottest = 0
	v.put(g, min(max(i, 0), last), min(max(j, 0), last))
	return true
}

// openKey opens the tasks behind the cell, the ledger of its row, the list of
// CPUs, or the next level.
func (v *View) openKey(key string, g *model.MoveGroups, row int) bool {
	switch key {
	case "enter":
		v.placed = true
		v.mode, v.task = taskMode, 0
		v.tasks.Cursor = 0
	case "f":
		v.fold()
	case "c":
		v.mode, v.cpu = coreMode, g.Groups[row].CPU
	case "l":
		if g.Level == model.ByCPU {
			v.openLedger(g.Groups[row].CPU)
		} else {
			v.mode, v.cpu = coreMode, g.Groups[row].CPU
		}
	default:
		return false
	}
	return true
}

// put moves the cursor to a cell.
func (v *View) put(g *model.MoveGroups, i, j int) {
	v.from, v.to, v.placed = g.Groups[i].CPU, g.Groups[j].CPU, true
}

// fold goes to the next coarser level that differs, from the coarsest to the
// finest; there the cursor is put on the busiest part of the cell it was on.
func (v *View) fold() {
	levels := v.levels()
	at := slices.Index(levels, v.shown)
	was := v.grouped(v.shown)
	i, j := v.cell(was)
	v.level = int(levels[(at+1)%len(levels)])
	v.shown = model.MoveLevel(v.level)
	if v.shown > was.Level {
		return
	}
	t, most := v.table(), uint32(0)
	for a := range t.Groups {
		for b := range t.Groups {
			if c := t.Count(a, b); c > most && was.Index(t.Groups[a].CPU) == i && was.Index(t.Groups[b].CPU) == j {
				most = c
				v.put(t.MoveGroups, a, b)
			}
		}
	}
}

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

// cellOf is a cell with what moved.
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

// mostHot is how many of the busiest cells are listed, and visited in turn.
const mostHot = 16

// nextHottest goes to the busiest cell, and on to the next ones when asked again.
func (v *View) nextHottest() {
	v.table()
	cells := v.counted.hot
	if len(cells) == 0 {
		return
	}
	c := cells[v.hottest%len(cells)]
	v.hottest++
	v.put(v.grouped(v.shown), c.i, c.j)
}
