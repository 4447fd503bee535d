package coresview

import (
	"fmt"
	"strings"

	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Render draws what is open in width × height cells.
func (v *View) Render(width, height int, th *theme.Theme) string {
	if v.m == nil || v.topo == nil {
		return th.Dim.Render(widget.Fit(" waiting for the first sample", width, th.Ellipsis))
	}
	if width < 1 || height < 1 {
		return ""
	}
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

// Lines of the map's page besides the map: title, totals, cell and keys.
const (
	mapTitle  = 1
	mapTotals = 1 // where they do not stand beside
	mapFoot   = 3 // legend, cell, keys
)

// renderMap draws the heat map with its totals.
func (v *View) renderMap(width, height int, th *theme.Theme) string {
	room := max(height-mapTitle-mapTotals-mapFoot, 2)
	v.shown = model.MoveLevel(v.level)
	if v.level == auto {
		v.shown = v.levelFor(width, room)
	}
	t := v.table()
	if !v.placed {
		if hot := v.counted.hot; len(hot) > 0 {
			v.put(t.MoveGroups, hot[0].i, hot[0].j)
		}
	}
	i, j := v.cell(t.MoveGroups)
	l := plan(t.MoveGroups, width, room, i, j)
	if l.side { // the legend and the totals are beside
		l = plan(t.MoveGroups, width, room+2, i, j)
	}
	v.page = l.rows.to - l.rows.from
	r := mapper{layout: l, th: th, t: t, i: i, j: j}
	lines := r.lines()
	head, foot := []string{v.mapTitle(t, &l, width, th)}, []string{v.cellLine(t, i, j, width, th), v.mapKeys(width, th)}
	if l.side {
		lines = beside(lines, sidePanel(t, v.counted.hot, max(height-mapTitle-2, 1), th), &l, width, th)
	} else {
		head = append(head, classLine(t, th).Render(th, width))
		legend := append(append(heatLine(th), rows.Row{{Text: "  "}}...), axes(th)...)
		foot = append([]string{legend.Render(th, width)}, foot...)
		lines = append(lines, below(t, v.counted.hot, room-len(lines)-1, width, th)...)
	}
	body := func(h int) []string { return lines[:min(len(lines), max(h, 0))] }
	return rows.Stack(width, height, head, len(lines), fill(body), foot)
}

// beside puts the totals to the right of the map.
func beside(lines []string, panel []rows.Row, l *layout, width int, th *theme.Theme) []string {
	out := make([]string, max(len(lines), len(panel)))
	for k := range out {
		out[k] = widget.LineAt(lines, k)
		if k < len(panel) && len(panel[k]) > 0 {
			gap := max(l.width+2-widget.Width(out[k]), 0)
			out[k] += strings.Repeat(" ", gap) + panel[k].Render(th, width-l.width-2)
		}
	}
	return out
}

// below lists the busiest cells where there is room for some under the map.
func below(t *model.MoveTable, hot []cellOf, room, width int, th *theme.Theme) []string {
	if room < 4 || len(hot) == 0 {
		return nil
	}
	list := hottest(t, hot[:min(room-1, len(hot))], th)
	out := []string{""}
	for _, r := range list {
		out = append(out, " "+r.Render(th, width-1))
	}
	return out
}

func (v *View) mapTitle(t *model.MoveTable, l *layout, width int, th *theme.Theme) string {
	var r rows.Row
	r.Add(th.Title, " Moves between "+map[model.MoveLevel]string{model.ByCPU: "CPUs", model.ByLLC: "last-level caches", model.ByNode: "nodes"}[t.Level])
	r.Add(th.Text, "  "+lastSpan(t.Span))
	if t.Span < spans[v.span]/2 {
		r.Add(th.Dim, fmt.Sprintf(" of the %s asked for", lastSpan(spans[v.span])[len("last "):]))
	}
	r.Add(th.Dim, fmt.Sprintf("  %s/s, %s", rate(t.PerS(t.Total)), v.source()))
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
	return keys(th, width, append(pairs, "c", "CPUs")...)
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
			parts = append(parts, rate(t.PerS(uint64(n)))+"/s "+className(only, true))
		}
	}
	if len(parts) < 2 {
		return only.String()
	}
	return strings.Join(parts, " + ")
}

// cellLine says what the cell under the cursor is.
func (v *View) cellLine(t *model.MoveTable, i, j, width int, th *theme.Theme) string {
	var r rows.Row
	r.Add(th.Strong, " "+pair(t.MoveGroups, i, j, th))
	count := t.Count(i, j)
	if count == 0 {
		if i == j && t.Level == model.ByCPU {
			r.Add(th.Dim, ": moves are between two CPUs; l opens the ledger of this one")
		} else {
			r.Add(th.Dim, ": nothing moved, "+v.cellClass(t, i, j))
		}
		return r.Render(th, width)
	}
	b := v.tasksBehind()
	r.Add(th.Text, fmt.Sprintf(": %s/s, %s, %s", rate(t.PerS(uint64(count))), v.cellClass(t, i, j), widget.Plural(len(b.tasks), "task")))
	if len(b.tasks) > 0 {
		if name := comm(v.taskOf(b.tasks[0].TID)); name != "" {
			r.Add(th.Dim, fmt.Sprintf(", most by %s (%d)", name, b.tasks[0].TID))
		}
	}
	return r.Render(th, width)
}
