package bench

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"piton/internal/chart"
)

// None is a cell without a value.
const None = "–"

// Row is one arm in words. The screen, the text table and the reports take them
// from here.
type Row struct {
	Placement  string
	Median     string // "6.54 ms", in a unit that all rows share
	Interval   string // "6.38–6.71 ms", 95 %
	Migrations string
	RunDelay   string
	Verdict    string // the comparison with the base in one sentence; "base" for that
	Different  bool
	Better     bool // when Different
}

// Headings are the titles of Row's cells.
var Headings = Row{Placement: "placement", Median: "median", Interval: "95 % interval", Migrations: "migrations", RunDelay: "run delay", Verdict: "verdict"}

// Rows computes the rows of a report.
func Rows(rep Report) []Row {
	most := 0.0
	for _, a := range rep.Arms {
		most = max(most, a.Median)
	}
	scale := chart.ScaleFor(most, rep.Metric.BaseUnit())
	rows := make([]Row, len(rep.Arms))
	for i, a := range rep.Arms {
		rows[i] = a.row(scale)
		if i == 0 && a.Runs > 0 {
			rows[i].Verdict = "base"
		}
		if i > 0 && rows[i].Verdict == None {
			c := rep.Comparisons[i-1]
			rows[i].Verdict, rows[i].Different, rows[i].Better = c.Verdict, c.Different, c.Better()
		}
	}
	return rows
}

func (a Arm) row(scale chart.Scale) Row {
	r := Row{Placement: string(a.Placement), Median: None, Interval: None, Migrations: None, RunDelay: None, Verdict: None}
	if a.Runs == 0 {
		if a.Failed > 0 {
			r.Verdict = "every run failed"
		}
		return r
	}
	r.Median = scale.Format(a.Median)
	if a.HaveInterval {
		r.Interval = scale.Number(a.Low) + "–" + scale.Format(a.High)
	}
	if a.HaveMigrations {
		r.Migrations = chart.Quantity(a.Migrations, "")
	}
	if a.HaveWait {
		r.RunDelay = chart.Percent(a.Wait)
	}
	return r
}

// Strips draws the runs of the arms on one axis.
func (rep Report) Strips() chart.Strips {
	s := chart.Strips{Unit: rep.Metric.BaseUnit()}
	for i, row := range Rows(rep) {
		a := rep.Arms[i]
		s.Strips = append(s.Strips, chart.Strip{Label: row.Placement, Points: a.values, Median: a.Median, Low: a.Low, High: a.High,
			HaveInterval: a.HaveInterval, Colour: i, Caption: row.Median, Verdict: row.Verdict})
	}
	return s
}

// Part says what a Span is, for terminals with colours.
type Part uint8

// The parts of a table.
const (
	PlainPart Part = iota
	HeadPart
	NamePart  // a placement, its median
	StripPart // runs, median, interval
	GoodPart  // the verdict of a placement that is better
	BadPart   // of one that is worse
)

// Span is text of one Part.
type Span struct {
	Part Part
	Text string
}

// Line is one line of a table.
type Line []Span

// TableOptions is how a table is laid out.
type TableOptions struct {
	Width int // cells
	ASCII bool
	// Running: more runs are coming. Then the table has how many there are instead
	// of verdicts, and no intervals.
	Running bool
}

// Widths of the table's columns.
const (
	minPlacement = 12
	maxPlacement = 24
	minStrip     = 24 // else verdicts go below the table
	wideStrip    = 44 // from which there is room for further columns
)

// tableColumn is one column of text.
type tableColumn struct {
	cells []string // the heading first
	width int
}

func newColumn(rows []Row, cell func(Row) string) tableColumn {
	var c tableColumn
	for _, r := range rows {
		c.cells = append(c.cells, cell(r))
		c.width = max(c.width, utf8.RuneCountInString(cell(r)))
	}
	return c
}

// right is a cell, padded, at the right of the column.
func (c tableColumn) right(i int) string {
	return strings.Repeat(" ", c.width-utf8.RuneCountInString(c.cells[i])) + c.cells[i]
}

// Table lays a report out: a line for each placement with its runs on one shared
// axis. Verdicts that have no room in the lines are below.
func (rep Report) Table(o TableOptions) (lines, below []Line) {
	if len(rep.Arms) == 0 {
		return nil, nil
	}
	rows, strips := append([]Row{Headings}, Rows(rep)...), rep.Strips()
	if o.Running {
		rows[0].Verdict = "runs"
		for i, a := range rep.Arms {
			rows[i+1].Verdict, rows[i+1].Different = rep.progress(a), false
			strips.Strips[i].HaveInterval = false
		}
	}
	names := min(max(newColumn(rows, func(r Row) string { return r.Placement }).width, minPlacement), maxPlacement)
	median := newColumn(rows, func(r Row) string { return r.Median })
	verdict := newColumn(rows, func(r Row) string { return r.Verdict })
	room := o.Width - names - 2 - median.width - 2
	inline := room-2-verdict.width >= minStrip
	if inline {
		room -= 2 + verdict.width
	}
	var further []tableColumn
	for _, cell := range []func(Row) string{func(r Row) string { return r.Migrations }, func(r Row) string { return r.RunDelay }} {
		if c := newColumn(rows, cell); room-2-c.width >= wideStrip {
			room -= 2 + c.width
			further = append(further, c)
		}
	}
	head, drawn := strips.Cells(max(room, 0), o.ASCII)
	drawn = append([]string{head}, drawn...)
	for i, r := range rows {
		name, strip, figure, found := NamePart, StripPart, PlainPart, r.part()
		if i == 0 {
			name, strip, figure, found = HeadPart, HeadPart, HeadPart, HeadPart
		}
		line := Line{{name, fmt.Sprintf("%-*s  ", names, chart.Cut(r.Placement, names))}, {name, median.right(i) + "  "}, {strip, drawn[i]}}
		for _, c := range further {
			line = append(line, Span{figure, "  " + c.right(i)})
		}
		if inline {
			line = append(line, Span{PlainPart, "  "}, Span{found, r.Verdict})
		} else if i > 0 && r.Verdict != "base" {
			below = append(below, Line{{found, r.Placement + ": " + r.Verdict}})
		}
		lines = append(lines, line)
	}
	return lines, below
}

// progress is how many runs an arm has.
func (rep Report) progress(a Arm) string {
	if rep.Asked > 0 {
		return fmt.Sprintf("%d of %d", a.Runs, rep.Asked)
	}
	return fmt.Sprint(a.Runs)
}

func (r Row) part() Part {
	switch {
	case r.Different && r.Better:
		return GoodPart
	case r.Different:
		return BadPart
	}
	return PlainPart
}

// Legend says how the strips of a table are read.
func Legend(ascii bool) string { return chart.Strips{}.Legend(ascii) }

// WriteTable writes the report as text, with its warnings below.
func WriteTable(w io.Writer, rep Report, o TableOptions) error {
	lines, below := rep.Table(o)
	if len(lines) == 0 {
		return nil
	}
	var out strings.Builder
	for _, line := range append(lines, below...) {
		text := ""
		for _, s := range line {
			text += s.Text
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	out.WriteString(Legend(o.ASCII) + "\n")
	for _, a := range rep.Arms {
		if text := countsText(a.Counts); text != "" {
			out.WriteString(string(a.Placement) + ": " + text + "\n")
		}
	}
	notes, _ := rep.Notes()
	for _, text := range notes {
		out.WriteString("note: " + text + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// countsText is an arm's counters in a line: "1.23 M instructions, 1.82
// instructions per cycle".
func countsText(counts []Count) string {
	var parts []string
	for _, c := range counts {
		parts = append(parts, chart.Quantity(c.Value, "")+" "+strings.ReplaceAll(c.Name, "_", " "))
	}
	return strings.Join(parts, ", ")
}

// mostNotes is how many warnings are shown under a study.
const mostNotes = 2

// Notes are the warnings to show under a study, those that change most what to think; rest
// are the others.
func (rep Report) Notes() (shown, rest []string) {
	n := min(len(rep.Warnings), mostNotes)
	return rep.Warnings[:n], rep.Warnings[n:]
}
