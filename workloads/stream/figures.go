package stream

import (
	"fmt"
	"math"
	"slices"

	"piton/internal/chart"
)

// Figures are bars of the four loops, or a grid beside the distances.
func (r Result) Figures() []chart.Figure {
	if len(r.Cells) > 0 {
		return []chart.Figure{r.heat(), r.fitted()}
	}
	b := chart.Bars{Unit: "MB/s"}
	for _, op := range r.Ops {
		b.Bars = append(b.Bars, chart.Bar{Label: op.Name, Value: op.MedianMBs, UpTo: op.BestMBs, Caption: chart.Quantity(op.MedianMBs, "MB/s") + ", best " + chart.Quantity(op.BestMBs, "MB/s")})
	}
	return []chart.Figure{{Title: "Bandwidth", Plot: b, Note: fmt.Sprintf("Three arrays of %d MiB, each %.1f× the last-level cache; %s loops.", r.MiB, r.CacheTimes, r.Used)}}
}

func (c Cell) row() string {
	if c.FromCPU < 0 {
		return fmt.Sprintf("node %d", c.FromNode)
	}
	return fmt.Sprintf("CPU %d (node %d)", c.FromCPU, c.FromNode)
}

// heat is triad's bandwidth from each CPU or node to each node's memory, with the
// distance that the firmware gives (SLIT).
func (r Result) heat() chart.Figure {
	var h chart.Heat
	for _, c := range r.Cells {
		if column := fmt.Sprintf("memory of node %d", c.MemoryNode); !slices.Contains(h.Columns, column) {
			h.Columns = append(h.Columns, column)
		}
		if !slices.Contains(h.Rows, c.row()) {
			h.Rows = append(h.Rows, c.row())
		}
	}
	for range h.Rows {
		h.Notes = append(h.Notes, make([]string, len(h.Columns)))
		h.Values = append(h.Values, slices.Repeat([]float64{math.NaN()}, len(h.Columns)))
	}
	for _, c := range r.Cells {
		i, k := slices.Index(h.Rows, c.row()), slices.Index(h.Columns, fmt.Sprintf("memory of node %d", c.MemoryNode))
		h.Values[i][k] = c.Triad()
		h.Notes[i][k] = fmt.Sprintf("distance %d", c.Distance)
	}
	return chart.Figure{Title: "Triad bandwidth to each node's memory, MB/s", Plot: h}
}

// fitted is bandwidth by distance with the line through it.
func (r Result) fitted() chart.Figure {
	l := chart.Lines{X: "distance by firmware", Y: "triad, MB/s", FromZero: true}
	dots := chart.Line{Name: "measured", Dots: true}
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range r.Cells {
		d := float64(c.Distance)
		dots.Points = append(dots.Points, chart.Point{X: d, Y: c.Triad()})
		low, high = min(low, d), max(high, d)
	}
	l.Lines = []chart.Line{dots}
	f := chart.Figure{Title: "Bandwidth by distance"}
	if r.Fit != nil {
		f.Note = r.Fit.Verdict
		if r.Fit.Valid {
			at := func(d float64) chart.Point { return chart.Point{X: d, Y: r.Fit.InterceptMBs + r.Fit.SlopeMBs*d} }
			l.Lines = append(l.Lines, chart.Line{Name: fmt.Sprintf("fitted, R² %.2f", r.Fit.R2), Points: []chart.Point{at(low), at(high)}})
		}
	}
	f.Plot = l
	return f
}
