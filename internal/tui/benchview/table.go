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

// column is one of the results table. Widths do not depend on the figures, so
// that nothing moves while they come in.
type column struct {
	cell  func(bench.Row) string
	width int
	right bool
}

// The columns in order, and the sets of them for narrow windows. A set without
// the verdict has the verdicts in sentences below the table.
const (
	colPlacement = iota
	colMedian
	colInterval
	colBar
	colDelta
	colMigrations
	colDelay
	colVerdict
)

var allColumns = [...]column{
	colPlacement:  {func(r bench.Row) string { return r.Placement }, 12, false},
	colMedian:     {func(r bench.Row) string { return r.Median }, 10, true},
	colInterval:   {func(r bench.Row) string { return r.Interval }, 21, true},
	colBar:        {func(r bench.Row) string { return r.Bar }, bench.BarWidth, false},
	colDelta:      {func(r bench.Row) string { return r.Delta }, 9, true},
	colMigrations: {func(r bench.Row) string { return r.Migrations }, 10, true},
	colDelay:      {func(r bench.Row) string { return r.RunDelay }, 9, true},
	colVerdict:    {func(r bench.Row) string { return r.Verdict }, 28, false},
}

var layouts = [][]int{
	{colPlacement, colMedian, colInterval, colBar, colDelta, colMigrations, colDelay, colVerdict},
	{colPlacement, colMedian, colInterval, colBar, colDelta, colMigrations, colDelay},
	{colPlacement, colMedian, colBar, colDelta, colMigrations, colDelay},
	{colPlacement, colMedian, colBar, colDelta},
	{colPlacement, colMedian, colDelta},
	{colPlacement, colMedian},
}

// layout is the widest set of columns that fits.
func layout(placement, width int) []int {
	for _, set := range layouts {
		need := 1 + placement - allColumns[colPlacement].width
		for _, c := range set {
			need += allColumns[c].width + 2
		}
		if need-2 <= width {
			return set
		}
	}
	return layouts[len(layouts)-1]
}

// table draws the arms of a study, each with its interval on a common scale.
func table(rep bench.Report, width int, th *theme.Theme) []string {
	if len(rep.Arms) == 0 {
		return nil
	}
	cells := bench.Rows(rep)
	placement := allColumns[colPlacement].width
	for _, r := range cells {
		placement = max(placement, min(widget.Width(r.Placement), 24))
	}
	set := layout(placement, width)
	heading := bench.Headings(rep.Arms[0].Placement)
	heading.Delta, heading.Bar = "change", scale(rep)
	lines := []string{line(heading, set, placement, func(int) theme.Style { return th.Header }, th).Render(th, width)}
	for _, r := range cells {
		lines = append(lines, line(r, set, placement, func(c int) theme.Style { return cellStyle(r, c, th) }, th).Render(th, width))
	}
	if set[len(set)-1] != colVerdict {
		lines = append(lines, verdicts(rep, width, th)...)
	}
	return lines
}

// scale is the ends of the range that the bars share, as wide as the bars.
func scale(rep bench.Report) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, a := range rep.Arms {
		if a.HaveInterval {
			low, high = min(low, a.Low), max(high, a.High)
		}
	}
	if low > high {
		return ""
	}
	from, to := bench.Seconds(low), bench.Seconds(high)
	return from + strings.Repeat(" ", max(bench.BarWidth-len(from)-len(to), 1)) + to
}

func line(r bench.Row, set []int, placement int, style func(int) theme.Style, th *theme.Theme) rows.Row {
	var out rows.Row
	gap := " "
	for _, c := range set {
		col := allColumns[c]
		if c == colPlacement {
			col.width = placement
		}
		out.Add(th.Text, gap)
		gap = "  "
		switch {
		case c == colVerdict:
			out.Add(style(c), col.cell(r))
		case col.right:
			out.Right(th, style(c), col.cell(r), col.width)
		default:
			out.Left(th, style(c), col.cell(r), col.width)
		}
	}
	return out
}

// cellStyle lets what was found stand out; words say it too.
func cellStyle(r bench.Row, c int, th *theme.Theme) theme.Style {
	switch {
	case c == colBar:
		return th.Accent
	case c == colPlacement || c == colMedian:
		return th.Strong
	case (c == colDelta || c == colVerdict) && r.Different && r.Better:
		return th.Good
	case (c == colDelta || c == colVerdict) && r.Different:
		return th.Warn
	}
	return th.Text
}

// verdicts are the comparisons in sentences.
func verdicts(rep bench.Report, width int, th *theme.Theme) []string {
	var lines []string
	for _, c := range rep.Comparisons {
		style := th.Text
		switch {
		case c.Better():
			style = th.Good
		case c.Different:
			style = th.Warn
		}
		lines = append(lines, rows.Indented(th, style, fmt.Sprintf("%s against %s: %s", c.Other.Placement, c.Base.Placement, c.Verdict), width)...)
	}
	return lines
}
