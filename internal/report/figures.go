package report

import (
	"fmt"

	"piton/internal/bench"
	"piton/internal/chart"
)

// Figures are the pictures of a study: its placements on one axis, its runs in
// order, and those of the workload itself.
func Figures(r bench.Results) []chart.Figure {
	placements := chart.Figure{Title: "Runs by placement", Plot: bench.Judge(r).Strips(),
		Note: "Dots are single runs (hollow ones lie beyond the axis), bars the 95 % intervals of the medians."}
	out := []chart.Figure{placements, sequence(r)}
	for _, p := range r.Study.Placements {
		if own := Own(r, p); len(own) > 0 {
			return append(out, own...)
		}
	}
	return out
}

func sequence(r bench.Results) chart.Figure {
	m := r.Study.Metric()
	l := chart.Lines{X: "run", Y: m.Noun() + " per run", Unit: m.BaseUnit()}
	for _, p := range r.Study.Placements {
		line := chart.Line{Name: string(p)}
		for _, run := range r.Of(p) {
			if run.Valid() {
				line.Points = append(line.Points, chart.Point{X: float64(run.Index + 1), Y: run.Metric})
			}
		}
		l.Lines = append(l.Lines, line)
	}
	return chart.Figure{Title: "Runs in order", Plot: l}
}

// Terminal is the study's picture in lines at most width cells wide: the
// workload's own, or the runs in order, height rows high, for one that has none.
func Terminal(r bench.Results, width, height int) ([]string, error) {
	lines, err := r.Picture(width)
	if err != nil || len(lines) > 0 {
		return lines, err
	}
	f := sequence(r)
	if drawn := f.Plot.(chart.Lines).TextRows(width, height); len(drawn) > 0 && len(r.Runs) > 1 {
		return drawn, nil
	}
	return nil, nil
}

// Own are the workload's own pictures of the last valid run of a placement, none
// where there is no such run or it cannot be read.
func Own(r bench.Results, p bench.Placement) []chart.Figure {
	last, ok := r.Last(p)
	if !ok {
		return nil
	}
	drawn, err := r.Drawn(last)
	if drawn == nil || err != nil {
		return nil // written by another version; the table has its figures
	}
	figures := drawn.Figures()
	for i := range figures {
		figures[i].Title += fmt.Sprintf(" (%s, run %d)", p, last.Index+1)
	}
	return figures
}
