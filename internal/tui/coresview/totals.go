package coresview

import (
	"fmt"

	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// className is a class in the short words of a line of totals.
func className(class topology.Distance) string {
	return [...]string{"", "SMT", "LLC", "node", "other"}[class]
}

// classLine is the totals by class, and the moves that the map does not show.
func classLine(t *model.MoveTable, th *theme.Theme) rows.Row {
	var r rows.Row
	for _, class := range t.Possible() {
		r.Add(th.Text, "  ")
		r.Add(widget.DistanceStyle(th, class), widget.DistanceLetter(class))
		r.Add(th.Dim, " "+className(class)+" ")
		r.Add(th.Text, field.Rate(t.PerS(t.Classes[class]))+"/s")
		r.Add(th.Dim, " "+share(float64(t.Classes[class])/float64(max(t.Total, 1))))
	}
	if t.Lost > 0 {
		r.Add(th.Warn, fmt.Sprintf("  %d lost", t.Lost))
	}
	if t.Elsewhere > 0 {
		r.Add(th.Warn, fmt.Sprintf("  %d of offline CPUs", t.Elsewhere))
	}
	return r
}

// legend says what the shades and the axes of the map are.
func legend(th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Dim, " per s ")
	for step, text := range heatLegend {
		style, glyph := th.Heat(step)
		r.Add(th.Text, " ")
		r.Add(style, glyph)
		r.Add(th.Dim, " "+text)
	}
	r.Add(th.Dim, "   rows from, columns to")
	return r
}
