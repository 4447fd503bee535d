package benchview

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

const dateTime = "2006-01-02 15:04"

// pastColumns are those of the list of past studies.
func pastColumns() []list.Column[study] {
	cell := func(f func(study) string) func(study, *theme.Theme, int) (string, theme.Style) {
		return func(p study, th *theme.Theme, _ int) (string, theme.Style) { return f(p), th.Text }
	}
	return []list.Column[study]{
		{ID: "when", Title: "WHEN", Width: len(dateTime), Tight: len(dateTime), Desc: true, Rank: 1,
			Cell:    cell(func(p study) string { return p.results.Started.Local().Format(dateTime) }),
			Compare: func(a, b study) int { return a.results.Started.Compare(b.results.Started) }},
		{ID: "work", Title: "WORK", Width: 40, Tight: 22, Rank: 2, Cell: cell(study.work),
			Compare: func(a, b study) int { return strings.Compare(a.work(), b.work()) }},
		{ID: "placements", Title: "PLACEMENTS", Width: 44, Rank: 4, Cell: func(p study, th *theme.Theme, _ int) (string, theme.Style) {
			return strings.Trim(fmt.Sprint(p.results.Study.Placements), "[]"), th.Dim
		}},
		{ID: "runs", Title: "RUNS", Width: 4, Right: true, Rank: 3, Cell: cell(study.runs)},
		{ID: "result", Title: "RESULT", Tight: 34, Cell: func(p study, th *theme.Theme, width int) (string, theme.Style) {
			found, style := p.found(th)
			if widget.Width(found) > width {
				found, _, _ = strings.Cut(found, " (") // without the interval
			}
			return found, style
		}},
	}
}

// sparkResults is how many past results the trend line shows.
const sparkResults = 16

// sparkline is the medians of the base in the studies of the same work.
func (v *View) sparkline(s bench.Study, th *theme.Theme) (rows.Row, bool) {
	if len(s.Placements) == 0 {
		return nil, false
	}
	medians := v.trend[trendKey(s)]
	if len(medians) < 2 {
		return nil, false
	}
	medians = medians[max(len(medians)-sparkResults, 0):]
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range medians {
		low, high = min(low, m), max(high, m)
	}
	var r rows.Row
	r.Add(th.Dim, " trend    ")
	for _, m := range medians {
		share := float32(0)
		if high > low {
			share = float32((m - low) / (high - low))
		}
		r.Add(th.Accent, widget.SparkCell(th, share))
	}
	scale := chart.ScaleFor(high, s.Metric().BaseUnit())
	r.Add(th.Dim, fmt.Sprintf("  medians of %s in the last %d studies, %s–%s", s.Placements[0], len(medians), scale.Number(low), scale.Format(high)))
	return r, true
}

// work is what a study ran; runs is how often each, "" for several studies.
func (p study) work() string {
	if p.published() {
		return "paper " + p.names()
	}
	return title(p.results.Study)
}

func (p study) runs() string {
	if p.published() {
		return ""
	}
	return strconv.Itoa(p.results.Study.Runs)
}
