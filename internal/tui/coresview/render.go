package coresview

import (
	"fmt"
	"strings"

	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Render draws what is open in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	if !v.ready() {
		return th.Dim.Render(widget.Fit(" waiting for the first sample", width, th.Ellipsis))
	}
	if width < 1 || height < 1 {
		return ""
	}
	v.beside = -1
	switch v.present() {
	case taskMode:
		return v.renderTasks(width, height, th)
	case coreMode:
		return v.renderCores(width, height, th)
	case ledgerMode:
		return v.renderLedger(width, height, th)
	}
	return v.renderMap(width, height, th)
}

const (
	gap         = 2   // between the map or list and what stands beside it
	sideFrom    = 100 // windows from this width on keep room for the movers beside the map
	besideFrom  = 118 // and from this one on for a ledger beside the movers
	ledgerLeast = 6   // lines of a ledger that are worth showing: a blank, title, heading, three rows
	moversLines = 4   // lines of movers that are worth showing
	moversLeast = 46  // width of their list
	moversBar   = 76  // and from where on it has a bar, beside a list
	mapLines    = 4   // lines of the page besides the map: title, totals, the cell, keys
)

// renderMap draws the heat map, the tasks that move most beside it, and the
// ledger of the row's CPU below. On small windows the ledger goes first, then
// the movers.
func (v *View) renderMap(width, height int, th *theme.Theme) string {
	room := max(height-mapLines, 2)
	narrow := width < sideFrom
	if narrow {
		room = max(room-1, 2) // the legend
	}
	v.setLevel(width, room)
	n, g := v.count(), v.grouped(v.shown)
	t := n.table
	if !v.placed && len(n.hot) > 0 {
		v.put(g, n.hot[0].i, n.hot[0].j)
	}
	i, j := v.cell(g)
	l := v.plan(g, width, room, i, j)
	v.page = l.rows.to - l.rows.from
	r := mapper{layout: l, th: th, t: t, i: i, j: j}
	body := v.withMovers(r.lines(), &l, width, room, th)
	body = append(body, v.cellLine(t, i, j, width, th))
	if rest := room + 1 - len(body); rest >= ledgerLeast {
		body = append(append(body, ""), v.ledgerOf(v.cpuOf(g, i), th)(width, rest-1)...)
	}
	key := legend(th)
	head := []string{v.mapTitle(t, &l, width, th), classLine(t, th).Render(th, width)}
	foot := []string{v.mapKeys(width, th)}
	if narrow {
		foot = append([]string{key.Render(th, width)}, foot...)
	} else {
		head[1] = widget.Spread(head[1], key.Render(th, width), width, th.Ellipsis)
	}
	return rows.Stack(width, height, head, len(body), func(h int) []string { return fillTo(body, h) }, foot)
}

// setLevel chooses the finest level that leaves room for the movers, unless a
// level was chosen by hand.
func (v *View) setLevel(width, room int) {
	if v.level != auto {
		v.shown = model.MoveLevel(v.level)
		return
	}
	if width >= sideFrom {
		width -= moversLeast + gap
	} else {
		room = max(room-moversLines, 2)
	}
	for _, v.shown = range v.levels() {
		if l := plan(v.grouped(v.shown), width, room, 0, 0); l.fits() {
			return
		}
	}
}

// plan lays the map out, in as little room as shows all of it: lines between
// groups only where a ledger still fits below.
func (v *View) plan(g *division, width, room, i, j int) (l layout) {
	sizes := [][2]int{{width, max(room-moversLines, 2)}, {width, room}}
	if beside := width - moversLeast - gap; width >= sideFrom {
		sizes = append([][2]int{{beside, room - ledgerLeast}, {beside, room}}, sizes...)
	}
	for _, size := range sizes {
		if l = plan(g, size[0], size[1], i, j); l.fits() {
			break
		}
	}
	return l
}

// withMovers puts the movers beside the map, or below it where the map leaves
// more room there. What is left of room is the ledger's: two fifths of it belong
// to the movers however few they are, so that nothing jumps when a task stops.
func (v *View) withMovers(lines []string, l *layout, width, room int, th *theme.Theme) []string {
	side := width - l.width - gap
	if side < moversLeast {
		height := room - len(lines)
		if height >= moversLines+ledgerLeast+1 {
			height = max(height/2, moversLines)
		}
		if height < moversLines {
			return lines
		}
		list := v.renderMovers(width, height-1, th)
		return fillTo(append(append(lines, ""), list...), len(lines)+height)
	}
	height := max(len(lines), room*2/5)
	if room-height < ledgerLeast {
		height = room
	}
	return beside(fillTo(lines, height), l.width, v.renderMovers(side, height, th))
}

// cpuOf is the CPU of a group whose ledger is shown: the busiest when the cursor
// came to the group, so that it does not change from tick to tick.
func (v *View) cpuOf(g *division, i int) cpuset.CPU {
	group := &g.Groups[i]
	if group.CPUs.Has(v.cpu) {
		return v.cpu
	}
	busy := float32(-1)
	v.cpu = group.CPU
	for k := range v.m.CPUs {
		if c := &v.m.CPUs[k]; group.CPUs.Has(c.ID) && model.Known(c.Busy) && c.Busy > busy {
			v.cpu, busy = c.ID, c.Busy
		}
	}
	return v.cpu
}

func (v *View) mapTitle(t *model.MoveTable, l *layout, width int, th *theme.Theme) string {
	var r rows.Row
	between := [...]string{model.ByCPU: "CPUs", model.ByLLC: "last-level caches", model.ByNode: "nodes"}
	r.Add(th.Title, " Migrations between "+between[t.Level])
	r.Add(th.Text, "  "+lastSpan(t.Span))
	if t.Span < spans[v.span]/2 {
		r.Add(th.Dim, fmt.Sprintf(" of %s", lastSpan(spans[v.span])[len("last "):]))
	}
	r.Add(th.Dim, fmt.Sprintf("  %s/s, %s", field.Rate(t.PerS(t.Total)), v.source()))
	if !l.fits() {
		n := len(t.Groups)
		r.Add(th.Warn, fmt.Sprintf("  %d-%d × %d-%d of %d", l.rows.from+1, l.rows.to, l.cols.from+1, l.cols.to, n))
	}
	return r.Render(th, width)
}

func (v *View) mapKeys(width int, th *theme.Theme) string {
	pairs := []string{"w", "window", "n", "next busiest", "Enter", "tasks"}
	if levels := v.levels(); len(levels) > 1 {
		pairs = append(pairs, "f", "fold")
	}
	if v.shown == model.ByCPU {
		pairs = append(pairs, "l", "ledger of the row")
	}
	return keyLine(th, width, append(pairs, "c", "CPUs")...)
}

// cellClass is the distance of a cell in words; of moves within a group, how
// they divide.
func (v *View) cellClass(t *model.MoveTable, i, j int) string {
	if i != j {
		return t.Apart(i, j).String()
	}
	var parts []string
	only := topology.SameCPU
	for class, n := range t.Within(i) {
		if n > 0 {
			only = topology.Distance(class)
			parts = append(parts, field.Rate(t.PerS(uint64(n)))+"/s "+className(only))
		}
	}
	if len(parts) < 2 {
		return only.String()
	}
	return strings.Join(parts, " + ")
}

func (v *View) cellLine(t *model.MoveTable, i, j, width int, th *theme.Theme) string {
	var r rows.Row
	r.Add(th.Strong, " "+v.grouped(v.shown).pair(i, j, th.Arrow))
	count := t.Count(i, j)
	if count == 0 {
		if i == j && t.Level == model.ByCPU {
			r.Add(th.Dim, ": a migration is between two CPUs; l opens the ledger of this one")
		} else {
			r.Add(th.Dim, ": no migrations, "+v.cellClass(t, i, j))
		}
		return r.Render(th, width)
	}
	b := v.tasksBehind()
	r.Add(th.Text, fmt.Sprintf(": %s/s, %s, %s", field.Rate(t.PerS(uint64(count))), v.cellClass(t, i, j), chart.Plural(len(b.tasks), "task")))
	if len(b.tasks) > 0 {
		if name := comm(v.Task(b.tasks[0].TID)); name != "" {
			r.Add(th.Dim, fmt.Sprintf(", most by %s (%d)", name, b.tasks[0].TID))
		}
	}
	return r.Render(th, width)
}
