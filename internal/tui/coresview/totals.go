package coresview

import (
	"fmt"

	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// className is a class as the totals call it; words of a line are short.
func className(class topology.Distance, short bool) string {
	if !short {
		return class.String()
	}
	return [...]string{"", "SMT", "LLC", "node", "other node"}[class]
}

func share(t *model.MoveTable, class topology.Distance) float64 {
	if t.Total == 0 {
		return 0
	}
	return float64(t.Classes[class]) / float64(t.Total)
}

// classLine is the totals in one line.
func classLine(t *model.MoveTable, th *theme.Theme) rows.Row {
	var r rows.Row
	for _, class := range t.Possible() {
		r.Add(th.Text, "  ")
		r.Add(widget.DistanceStyle(th, class), widget.DistanceLetter(class))
		r.Add(th.Dim, " "+className(class, true)+" ")
		r.Add(th.Text, rate(t.PerS(t.Classes[class]))+"/s")
		r.Add(th.Dim, " "+percent(share(t, class)))
	}
	if t.Lost > 0 {
		r.Add(th.Warn, fmt.Sprintf("  lost %d", t.Lost))
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

// axes says which way to read the map.
func axes(th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Dim, " rows from, columns to")
	return r
}

// sidePanel is the totals, the legend and the busiest cells beside the map.
func sidePanel(t *model.MoveTable, hot []cellOf, height int, th *theme.Theme) []rows.Row {
	var out []rows.Row
	line := func(style theme.Style, letter, what, count, perS, part string) {
		var r rows.Row
		r.Add(style, letter+" ")
		r.Left(th, th.Text, what, 12)
		r.Right(th, th.Text, count, 9)
		r.Right(th, th.Text, perS, 8)
		r.Right(th, th.Text, part, 6)
		out = append(out, r)
	}
	var head rows.Row
	head.Left(th, th.Dim, "", 14)
	head.Right(th, th.Dim, "moves", 9)
	head.Right(th, th.Dim, "per s", 8)
	head.Right(th, th.Dim, "share", 6)
	out = append(out, head)
	for _, class := range t.Possible() {
		n := t.Classes[class]
		line(widget.DistanceStyle(th, class), widget.DistanceLetter(class), class.String(), fmt.Sprint(n), rate(t.PerS(n)), percent(share(t, class)))
	}
	line(th.Text, " ", "all", fmt.Sprint(t.Total), rate(t.PerS(t.Total)), "")
	out = append(out, remarks(t, th)...)
	out = append(out, nil, heatLine(th), axes(th))
	if room := height - len(out) - 2; room > 0 {
		if list := hottest(t, hot[:min(len(hot), room)], th); len(list) > 1 {
			out = append(append(out, nil), list...)
		}
	}
	return out[:min(len(out), height)]
}

// remarks say which moves the map cannot show.
func remarks(t *model.MoveTable, th *theme.Theme) []rows.Row {
	var out []rows.Row
	add := func(n uint64, text string) {
		if n > 0 {
			var r rows.Row
			r.Add(th.Warn, fmt.Sprintf("  %d %s", n, text))
			out = append(out, r)
		}
	}
	add(t.Lost, "more had no room")
	add(t.Elsewhere, "of offline CPUs")
	return out
}

// hottest lists the cells with the most moves.
func hottest(t *model.MoveTable, hot []cellOf, th *theme.Theme) []rows.Row {
	var head rows.Row
	head.Add(th.Dim, "  busiest")
	out := []rows.Row{head}
	for _, c := range hot {
		class := t.ClassOf(c.i, c.j)
		var r rows.Row
		r.Add(widget.DistanceStyle(th, class), widget.DistanceLetter(class)+" ")
		r.Left(th, th.Text, pair(t.MoveGroups, c.i, c.j, th), 21)
		r.Right(th, th.Text, rate(t.PerS(uint64(c.count))), 8)
		r.Right(th, th.Dim, percent(float64(c.count)/float64(t.Total)), 6)
		out = append(out, r)
	}
	return out
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
