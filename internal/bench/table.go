package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"piton/internal/chart"
	"piton/internal/group"
	"piton/workloads/workload"
)

// None is a cell without a value.
const None = "–"

// Row is one arm in words. The screen, the text table and the reports take them from here.
type Row struct {
	Placement  string
	Median     string // "6.54 ms", in a unit that all rows share
	Interval   string // "6.38–6.71 ms", 95 %
	Migrations string
	RunDelay   string // as a share of the wall time
	Verdict    string // the comparison with the base, with its evidence; "base" for that
	Against    string // the same without the evidence
	Different  bool
	Better     bool // when Different
}

// Headings are the titles of Row's cells.
var Headings = Row{Placement: "placement", Median: "median", Interval: "95 % interval", Migrations: "migrations", RunDelay: "run delay", Verdict: "verdict"}

// Rows computes the rows of a report.
func Rows(rep Report) (rows []Row) {
	most := 0.0
	for _, a := range rep.Arms {
		most = max(most, a.Median)
	}
	scale := chart.ScaleFor(most, rep.Metric.BaseUnit())
	cell := func(have bool, text string) string {
		if have {
			return text
		}
		return None
	}
	for i, a := range rep.Arms {
		r := Row{Placement: string(a.Placement), Median: cell(a.Runs > 0, scale.Format(a.Median)), RunDelay: cell(a.HaveWait, chart.Percent(a.Wait)),
			Interval:   cell(a.HaveInterval, scale.Number(a.Low)+"–"+scale.Format(a.High)),
			Migrations: cell(a.HaveMigrations, chart.Quantity(a.Migrations, ""))}
		switch {
		case a.Runs == 0 && a.Failed > 0:
			r.Verdict, r.Against = "every run failed", "every run failed"
		case i > 0:
			c := rep.Comparisons[i-1]
			r.Verdict, r.Against, r.Different, r.Better = c.Verdict, c.against(), c.Different, c.Better()
		default:
			r.Verdict, r.Against = cell(a.Runs > 0, "base"), cell(a.Runs > 0, "base")
		}
		rows = append(rows, r)
	}
	return rows
}

// Effects are the comparisons on one axis, the base at 0.
func (rep Report) Effects() chart.Effects {
	var e chart.Effects
	if rep.Metric != (workload.Metric{}) {
		e.Worse, e.Better = "worse", "better"
	}
	for i, a := range rep.Arms {
		row := chart.EffectRow{Label: string(a.Placement)}
		if i > 0 {
			row = rep.Comparisons[i-1].Effect()
		}
		row.Colour = i
		e.Rows = append(e.Rows, row)
	}
	return e
}

// RunStrips are the runs of the arms in their order.
func (rep Report) RunStrips() chart.RunStrips {
	s := chart.RunStrips{Unit: rep.Metric.BaseUnit()}
	for i, a := range rep.Arms {
		s.Strips = append(s.Strips, chart.RunStrip{Label: string(a.Placement), Runs: a.values, Colour: i})
	}
	return s
}

// Part says what a Span is, for terminals with colours.
type Part uint8

// The parts of a table.
const (
	PlainPart  Part = iota
	AnswerPart      // what the study found
	HeadPart
	EffectPart // the effect on its axis
	GoodPart   // the verdict of a placement that is better
	BadPart    // of one that is worse
)

// Span is text of one Part.
type Span struct {
	Part Part
	Text string
}

// Line is one line of a table.
type Line []Span

// TableOptions is how a study is laid out.
type TableOptions struct {
	Width int // cells
	ASCII bool
	// Running: more runs are coming. Then there is no answer, and how many runs there are
	// instead of what they show.
	Running bool
	Tight   bool // no blank lines
}

// Widths of the table's columns.
const (
	minPlacement = 12
	maxPlacement = 24
	toTheRight   = -1
	minAxis      = 24 // else there is none
	wideAxis     = 40 // from which there is room for further columns
)

// tableColumn is one column of text, the heading first, in cells of one width.
type tableColumn []string

// newColumn pads its cells at the right, or where width is below 0 at the left.
func newColumn(heading string, rows []Row, width int, cell func(Row) string) tableColumn {
	c := append(tableColumn{heading}, group.Each(rows, cell)...)
	widest := max(width, 0)
	for _, text := range c {
		widest = max(widest, utf8.RuneCountInString(text))
	}
	if width >= 0 {
		widest = -widest
	}
	for i, text := range c {
		c[i] = fmt.Sprintf("%*s", widest, text)
	}
	return c
}

func (c tableColumn) width() int { return utf8.RuneCountInString(c[0]) }

// Lines draws a study: its answer, a table with a line for each placement, and its runs.
func (rep Report) Lines(o TableOptions) (out []Line) {
	gap := func() {
		if !o.Tight && len(out) > 0 {
			out = append(out, Line{})
		}
	}
	if !o.Running {
		out = group.Each(chart.Wrap(rep.Answer(), o.Width), func(text string) Line { return Line{{AnswerPart, text}} })
	}
	gap()
	out = append(out, rep.table(o)...)
	if runs := rep.RunStrips(); slices.ContainsFunc(runs.Strips, func(s chart.RunStrip) bool { return len(s.Runs) > 1 }) {
		gap()
		strips, scale := runs.Lines(o.Width)
		out = append(out, Line{{HeadPart, "RUN BY RUN, " + scale}})
		out = append(out, group.Each(strips, func(text string) Line { return Line{{PlainPart, text}} })...)
	}
	for _, line := range out {
		for i := range line {
			line[i].Text = o.spelled(line[i].Text)
		}
	}
	return out
}

// spelled is text in the characters that there are.
func (o TableOptions) spelled(text string) string {
	if o.ASCII {
		return chart.ASCII.Replace(text)
	}
	return text
}

// table is a line for each placement, with its effect on the axis that all share.
func (rep Report) table(o TableOptions) (lines []Line) {
	if len(rep.Arms) == 0 {
		return nil
	}
	rows, heading := Rows(rep), "TIME"
	if rep.Metric != (workload.Metric{}) {
		heading = "MEDIAN"
	}
	names := newColumn("PLACEMENT", rows, minPlacement, func(r Row) string { return chart.Cut(r.Placement, maxPlacement) })
	median := newColumn(heading, rows, toTheRight, func(r Row) string { return r.Median })
	against := newColumn("AGAINST "+string(rep.Arms[0].Placement), rows, 0, func(r Row) string { return o.spelled(r.Against) })
	further := []tableColumn{newColumn("MIG", rows, toTheRight, func(r Row) string { return r.Migrations }), newColumn("WAIT", rows, toTheRight, func(r Row) string { return r.RunDelay })}
	if o.Running {
		for i, a := range rep.Arms {
			rows[i].Against = fmt.Sprint(a.Runs)
			if rep.Asked > 0 {
				rows[i].Against += fmt.Sprintf(" of %d", rep.Asked)
			}
		}
		against = newColumn("RUNS", rows, len("10 of 10"), func(r Row) string { return r.Against })
	}
	room := o.Width - names.width() - median.width() - against.width() - 3*2
	wide := room - further[0].width() - further[1].width() - 2*2
	effects := rep.Effects()
	for i, r := range effects.Rows {
		if r.Remark != "" {
			effects.Rows[i].Remark = " " // the column beside says it
		}
	}
	withAxis := !o.Running && room >= minAxis && slices.ContainsFunc(rep.Comparisons, func(c Comparison) bool { return c.Unjudged == "" })
	switch {
	case withAxis && wide >= wideAxis:
		room = wide
	case withAxis || wide < 0:
		further = nil
	}
	head, axis := effects.Cells(room, false)
	axis = append([]string{head}, axis...)
	for i := range axis {
		plain, found := PlainPart, PlainPart
		switch {
		case i == 0:
			plain, found = HeadPart, HeadPart
		case !o.Running && rows[i-1].Better:
			found = GoodPart
		case !o.Running && rows[i-1].Different:
			found = BadPart
		}
		line := Line{{plain, names[i] + "  " + median[i] + "  "}, {found, against[i]}}
		if withAxis {
			line = append(line, Span{EffectPart, "  " + axis[i]})
		}
		for _, c := range further {
			line = append(line, Span{plain, "  " + c[i]})
		}
		lines = append(lines, line)
	}
	return lines
}

// WriteText writes a study as text, with its warnings and conditions below.
func WriteText(w io.Writer, r Results, o TableOptions) error {
	rep := Judge(r)
	if len(rep.Arms) == 0 {
		return nil
	}
	var out strings.Builder
	for _, line := range rep.Lines(o) {
		text := ""
		for _, s := range line {
			text += s.Text
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	out.WriteString("\n")
	for _, a := range rep.Arms {
		counts := group.Each(a.Counts, func(c Count) string { return chart.Quantity(c.Value, "") + " " + strings.ReplaceAll(c.Name, "_", " ") })
		if len(counts) > 0 {
			out.WriteString(string(a.Placement) + ": " + strings.Join(counts, ", ") + "\n")
		}
	}
	if text := rep.Quality(); text != "" {
		out.WriteString(text + "\n")
	}
	notes, _ := rep.Notes()
	for _, text := range notes {
		out.WriteString("note: " + text + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Quality is how quiet it was, and how many answers were right.
func (rep Report) Quality() string {
	text := rep.Quiet()
	if rep.answered > 0 {
		text += fmt.Sprintf(", %d of %d right", rep.right, rep.answered)
	}
	return strings.TrimPrefix(text, ", ")
}

// MostNotes is how many notes are shown under a study.
const MostNotes = 2

// Notes are the warnings to show under a study, those that change most what to think; rest
// are the others.
func (rep Report) Notes() (shown, rest []string) {
	n := min(len(rep.Warnings), MostNotes)
	return rep.Warnings[:n], rep.Warnings[n:]
}
