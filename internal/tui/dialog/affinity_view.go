package dialog

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// The cells of the columns behind a row's name, the ones that matter most first: on a narrow
// screen the last are cut.
const (
	loadCells = 5
	nowCells  = 4
	barCells  = 10
	noteCells = 32
)

func (a *Affinity) nameCells() int {
	cells := 12
	for _, b := range a.tree {
		cells = max(cells, 2*b.depth+2+4+widget.Width(b.label)+1)
	}
	return cells
}

// Render draws the change, the tree and the keys.
func (a *Affinity) Render(width, height int, th *theme.Theme) string {
	name := a.nameCells()
	width = min(width, 1+name+loadCells+nowCells+1+barCells+2+noteCells)
	var heading rows.Row
	heading.Left(th, th.Dim, "", 1+name)
	heading.Right(th, th.Dim, "load", loadCells)
	heading.Right(th, th.Dim, "now", nowCells)
	n, head := len(a.shown), []string{a.change(th).Render(th, width), heading.Render(th, width)}
	if a.typing != nil { // then the head is what matters, however few lines there are
		n, head = 0, strings.Split(a.typing.Render(width, height, th), "\n")
	}
	body := a.list.Body(th, len(a.shown), func(i int, selected bool) string {
		return a.row(a.tree[a.shown[i]], name, th).Item(th, width, selected && a.typing == nil)
	})
	return rows.Stack(width, height, head, n, body, a.foot(width, th))
}

// change is "0-7 → 5", with what it was and what it will be.
func (a *Affinity) change(th *theme.Theme) rows.Row {
	var r rows.Row
	before := a.Current.String()
	if a.Mixed {
		before = "threads differ, together " + before
	}
	r.Add(th.Dim, " "+before+" "+th.Arrow+" ")
	if a.picked.Empty() {
		r.Add(th.Bad, "none")
	} else {
		r.Add(th.Strong, a.picked.String())
	}
	r.Add(th.Dim, fmt.Sprintf("  %d of %d CPUs", a.picked.Len(), a.usable.Len()))
	return r
}

func (a *Affinity) row(b branch, name int, th *theme.Theme) rows.Row {
	var r rows.Row
	can := b.cpus.And(a.usable)
	style := th.Text
	if can.Empty() {
		style = th.Dim
	}
	r.Left(th, style, strings.Repeat("  ", b.depth)+foldMark(b, th)+a.box(b.cpus, th)+" "+b.label, name)
	share, known := a.Load.mean(b.cpus)
	text, bar := th.None, []byte(strings.Repeat(" ", barCells))
	if known {
		text, bar = fmt.Sprintf("%d%%", int(math.Round(float64(share)*100))), widget.AppendBar(nil, th, share, barCells)
	}
	r.Right(th, th.Text, text, loadCells)
	r.Right(th, th.Accent, part(b.cpus, a.Current, th.Tag, th.Shade[2]), nowCells)
	r.Add(th.Text, " ")
	r.Drawn(bar)
	r.Add(th.Text, "  ")
	if b.leaf < 0 {
		count := fmt.Sprintf("%d/%d", b.cpus.And(a.picked).Len(), can.Len())
		r.Left(th, th.Dim, fmt.Sprintf("%-6s %s", count, b.cpus), noteCells)
	} else {
		a.addNotes(&r, b, th)
	}
	return r
}

func foldMark(b branch, th *theme.Theme) string {
	switch {
	case b.leaf >= 0:
		return "  "
	case b.folded:
		return "+ "
	}
	return th.SortDown + " "
}

// box is the tick box of a group: all of what can be ticked, some, or none.
func (a *Affinity) box(cpus cpuset.Set, th *theme.Theme) string {
	can := cpus.And(a.usable)
	switch got := can.And(a.picked); {
	case can.Empty():
		return " " + th.None + " "
	case got.Empty():
		return th.Unchecked
	case got.Equal(can):
		return th.Checked
	}
	return th.Part
}

// part is the mark for all of cpus in set, for some, or for none.
func part(cpus, set cpuset.Set, all, some string) string {
	switch {
	case cpus.SubsetOf(set):
		return all
	case cpus.And(set).Empty():
		return ""
	}
	return some
}

// mean is the mean busy share of the CPUs of which it is known.
func (l LoadMsg) mean(cpus cpuset.Set) (share float32, ok bool) {
	n := 0
	for cpu := range cpus.All() {
		if v, known := l[cpu]; known && v == v {
			share += v
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return share / float32(n), true
}

func (a *Affinity) addNotes(r *rows.Row, b branch, th *theme.Theme) {
	cpu, _ := a.Topology.CPU(b.leaf)
	var notes []string
	if cpu.Kind != topology.KindUniform {
		notes = append(notes, cpu.Kind.String())
	}
	if cpu.Isolated {
		notes = append(notes, "isolated")
	}
	if why := a.unusable(b.leaf); why != "" {
		notes = append(notes, why)
	}
	if b.leaf == a.LeastLoaded && a.Load.idlest(b.leaf) {
		r.Add(th.Accent, th.Mark+" idlest  ")
	}
	r.Add(th.Dim, strings.Join(notes, ", "))
}

func (a *Affinity) foot(width int, th *theme.Theme) []string {
	if a.typing != nil {
		return nil
	}
	keys := []string{" Space", "tick", "a", "all", "n", "none", "i", "invert"}
	if box := th.Unchecked; a.Memory {
		if a.MemoryFollows {
			box = th.Checked
		}
		keys = append(keys, "m", "memory follows "+box)
	}
	return []string{noteOr(a.note, th, width, keys...),
		noteOr("", th, width, " left right", "fold", "l", "type a list", "Enter", "apply", "Esc", "cancel")}
}
