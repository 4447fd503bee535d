package coresview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/model"
)

// border is what divides a group from the one before it.
type border uint8

const (
	noBorder border = iota
	llcBorder
	nodeBorder
)

// division is a machine divided at one level.
type division struct {
	*model.MoveGroups
	parts []part // what each of the groups is called
}

// part is a group in words.
type part struct {
	name, number  string // "cpu 3", "LLC 12", "node 1", and the number alone
	parent, short string // what it shares with others: "node 0 LLC 1", "n0 L1"; only levels that divide the machine
	before        border
}

func divide(g *model.MoveGroups) *division {
	d := &division{g, make([]part, len(g.Groups))}
	nodes := g.Level != model.ByNode
	llcs := g.Level == model.ByCPU && !g.Topology.Scattered()
	for i := range g.Groups {
		at, p := &g.Groups[i], &d.parts[i]
		named := func(kind string, number int) { p.number = strconv.Itoa(number); p.name = kind + " " + p.number }
		switch {
		case g.Level == model.ByCPU:
			named("cpu", int(at.CPU))
		case g.Level == model.ByLLC && at.LLC >= 0:
			named("LLC", at.LLC)
		case at.Node >= 0:
			named("node", int(at.Node))
		default:
			p.name, p.number = "no node", "-"
		}
		if nodes && len(g.Topology.Nodes) > 1 && at.Node >= 0 {
			p.parent, p.short = fmt.Sprintf("node %d", at.Node), fmt.Sprintf("n%d", at.Node)
		}
		if llcs && len(g.Topology.LLCs()) > 1 && at.LLC >= 0 {
			p.parent = strings.TrimSpace(fmt.Sprintf("%s LLC %d", p.parent, at.LLC))
			p.short = strings.TrimSpace(fmt.Sprintf("%s L%d", p.short, at.LLC))
		}
		if i > 0 && nodes && g.Groups[i-1].Node != at.Node {
			p.before = nodeBorder
		} else if i > 0 && llcs && g.Groups[i-1].LLC != at.LLC {
			p.before = llcBorder
		}
	}
	return d
}

// pair names a cell: "cpu 3 → cpu 7".
func (d *division) pair(i, j int, arrow string) string {
	switch {
	case i != j:
		return d.parts[i].name + " " + arrow + " " + d.parts[j].name
	case d.Level == model.ByCPU:
		return d.parts[i].name
	}
	return "within " + d.parts[i].name
}

func (v *View) where(cpu cpuset.CPU) string {
	g := v.grouped(model.ByCPU)
	if i := g.Index(cpu); i >= 0 && g.Level == model.ByCPU {
		return g.parts[i].parent
	}
	return ""
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

type cellOf struct {
	i, j  int
	count uint32
}

// busiest ranks the cells that have any moves, and that are wanted, most first.
func busiest(t *model.MoveTable, most int, wanted func(i, j int) bool) []cellOf {
	var cells []cellOf
	n := len(t.Groups)
	least := uint32(0) // of those kept, once there are enough
	for i := range n {
		for j := range n {
			c := t.Count(i, j)
			if c <= least || !wanted(i, j) {
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
