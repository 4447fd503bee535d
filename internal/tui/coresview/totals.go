package coresview

import (
	"fmt"

	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// className is a class in the short words of a line of totals.
func className(class topology.Distance) string {
	return [...]string{"", "SMT", "LLC", "node", "other node"}[class]
}

func share(t *model.MoveTable, class topology.Distance) float64 {
	if t.Total == 0 {
		return 0
	}
	return float64(t.Classes[class]) / float64(t.Total)
}

// classLine is the totals by class, and the moves that the map does not show.
func classLine(t *model.MoveTable, th *theme.Theme) rows.Row {
	var r rows.Row
	for _, class := range t.Possible() {
		r.Add(th.Text, "  ")
		r.Add(widget.DistanceStyle(th, class), widget.DistanceLetter(class))
		r.Add(th.Dim, " "+className(class)+" ")
		r.Add(th.Text, rate(t.PerS(t.Classes[class]))+"/s")
		r.Add(th.Dim, " "+percent(share(t, class)))
	}
	if t.Lost > 0 {
		r.Add(th.Warn, fmt.Sprintf("  %d lost", t.Lost))
	}
	if t.Elsewhere > 0 {
		r.Add(th.Warn, fmt.Sprintf("  %d of offline CPUs", t.Elsewhere))
	}
	return r
}

// heatLine is the legend of the shades.
func heatLine(th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Dim, " per s ")
	for step, text := range heatLegend {
		style, glyph := heat(th, step)
		r.Add(th.Text, " ")
		r.Add(style, glyph)
		r.Add(th.Dim, " "+text)
	}
	return r
}

// axes names the axes of the map.
func axes(th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Dim, "   rows from, columns to")
	return r
}

// pair names a cell: "cpu 3 → cpu 7".
func pair(g *model.MoveGroups, i, j int, th *theme.Theme) string {
	switch {
	case i == j && g.Level == model.ByCPU:
		return name(g, i)
	case i == j:
		return "within " + name(g, i)
	}
	return name(g, i) + " " + th.Arrow + " " + name(g, j)
}
