package benchview

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// pastColumns are the widths of the list of past studies; 0 = left out.
type pastColumns struct {
	when, work, placements, runs int
	date                         string // layout of when
}

const dateTime = "2006-01-02 15:04"

func columnsFor(width int) pastColumns {
	switch {
	case width < 100:
		return pastColumns{when: 11, work: 22, runs: 4, date: "01-02 15:04"}
	case width < 160:
		return pastColumns{when: 16, work: 34, runs: 4, date: dateTime}
	}
	return pastColumns{when: 16, work: 40, placements: 44, runs: 4, date: dateTime}
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

func (v *View) pastHeading(width int, th *theme.Theme) string {
	c := columnsFor(width)
	var r rows.Row
	r.Left(th, th.Header, " when", c.when+3)
	r.Left(th, th.Header, "work", c.work+2)
	if c.placements > 0 {
		r.Left(th, th.Header, "placements", c.placements+2)
	}
	r.Right(th, th.Header, "runs", c.runs)
	r.Add(th.Text, "  ")
	r.Add(th.Header, "result")
	return r.Render(th, width)
}

// pastLines are the rows of the list that fit into height lines.
func (v *View) pastLines(width, height int, th *theme.Theme) []string {
	return v.list.Body(len(v.history), func(i int, selected bool) string { return v.history[i].row(width, th).Item(th, width, selected) })(height)
}

func (p past) row(width int, th *theme.Theme) rows.Row {
	c, s := columnsFor(width), p.results.Study
	work, runs := title(s), fmt.Sprint(s.Runs)
	if p.grid.ID != "" {
		work, runs = "paper "+names(p.grid.Papers), ""
	}
	var r rows.Row
	r.Left(th, th.Text, p.results.Started.Local().Format(c.date), c.when)
	r.Add(th.Text, "  ")
	r.Left(th, th.Text, work, c.work)
	r.Add(th.Text, "  ")
	if c.placements > 0 {
		var names []string
		for _, pl := range s.Placements {
			names = append(names, string(pl))
		}
		r.Left(th, th.Dim, strings.Join(names, " "), c.placements)
		r.Add(th.Text, "  ")
	}
	r.Right(th, th.Text, runs, c.runs)
	r.Add(th.Text, "  ")
	found, style := p.found(th)
	if room := width - 1 - r.Width(); widget.Width(found) > room {
		found, _, _ = strings.Cut(found, " (") // without the interval
	}
	r.Add(style, found)
	return r
}
