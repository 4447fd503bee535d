package benchview

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/bench"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Widths of the list of past studies.
const (
	whenWidth  = 16
	workWidth  = 28
	placeWidth = 24
	runsWidth  = 5
)

// sparkResults is how many past results the history line shows.
const sparkResults = 16

// sparkline is the medians of the base over the studies of the same work.
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
	r.Add(th.Dim, " history  ")
	for _, m := range medians {
		share := float32(0)
		if high > low {
			share = float32((m - low) / (high - low))
		}
		r.Add(th.Accent, widget.SparkCell(th, share))
	}
	r.Add(th.Dim, fmt.Sprintf("  %s, last %d results here, %s … %s",
		s.Placements[0], len(medians), bench.Seconds(low), s.Metric().Format(high)))
	return r, true
}

func (v *View) pastHeading(width int, th *theme.Theme) string {
	var r rows.Row
	r.Left(th, th.Header, " when", whenWidth+1)
	r.Left(th, th.Header, "  work", workWidth+2)
	if width >= 120 {
		r.Left(th, th.Header, "  placements", placeWidth+2)
	}
	r.Right(th, th.Header, "runs", runsWidth+1)
	r.Add(th.Text, "  ")
	r.Add(th.Header, "found")
	return r.Render(th, width)
}

// pastLines are the rows of the list that fit into height lines.
func (v *View) pastLines(width, height int, th *theme.Theme) []string {
	return v.list.Body(len(v.history), func(i int, selected bool) string { return v.history[i].row(width, th).Item(th, width, selected) })(height)
}

func (p past) row(width int, th *theme.Theme) rows.Row {
	s := p.results.Study
	var r rows.Row
	r.Left(th, th.Text, p.results.Started.Local().Format("2006-01-02 15:04"), whenWidth)
	r.Add(th.Text, "  ")
	work, runs := title(s), fmt.Sprint(s.Runs)
	if p.grid.ID != "" {
		work, runs = "paper "+names(p.grid.Papers), ""
	}
	r.Left(th, th.Text, work, workWidth)
	if width >= 120 {
		var names []string
		for _, pl := range s.Placements {
			names = append(names, string(pl))
		}
		r.Add(th.Text, "  ")
		r.Left(th, th.Dim, strings.Join(names, " "), placeWidth)
	}
	r.Right(th, th.Text, runs, runsWidth+1)
	r.Add(th.Text, "  ")
	r.Add(th.Text, p.found())
	return r
}
