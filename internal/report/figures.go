package report

import (
	"cmp"
	"fmt"

	"piton/internal/bench"
	"piton/internal/chart"
)

// Figures are the pictures of a study: the effects of its placements, its runs in order,
// and those of the workload itself.
func Figures(r bench.Results) []chart.Figure {
	rep := bench.Judge(r)
	var out []chart.Figure
	if len(rep.Comparisons) > 0 {
		out = append(out, chart.Figure{Title: "Against " + string(rep.Arms[0].Placement), Plot: rep.Effects(), Note: "Dots are estimates, bars their 95 % intervals."})
	}
	runs := rep.RunStrips()
	out = append(out, chart.Figure{Title: "Run by run", Plot: runs})
	for _, p := range r.Study.Placements {
		if own := Own(r, p); len(own) > 0 {
			return append(out, own...)
		}
	}
	return out
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

// SVG has the figures of sections in one document. A section without one has its answer, which
// says what is missing.
func SVG(sections []Section) []byte {
	var figures []chart.Figure
	for _, s := range sections {
		if len(s.Figures) == 0 {
			s.Figures = []chart.Figure{{Title: s.Title, Note: cmp.Or(s.Answer, "Nothing was measured.")}}
		}
		figures = append(figures, s.Figures...)
	}
	return chart.SVG(figures)
}
