package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// None is a cell without a value.
const None = "–"

// Row is one arm as the results table shows it; the screen and the text table
// take their words from here.
type Row struct {
	Placement  string
	Median     string // "0.241 s", with the metric's unit
	Interval   string // "[0.238 … 0.247]"
	Bar        string // the interval drawn on a scale that all rows share, BarWidth wide
	Delta      string // "−3.1%", or "−12.5 /s" where there is no share; None for the base
	Migrations string
	RunDelay   string
	Verdict    string
	Different  bool
	Better     bool // when Different
}

// BarWidth is the width of Row.Bar in cells.
const BarWidth = 17

// Headings are the titles of Row's cells; base is the placement compared with.
func Headings(base Placement) Row {
	return Row{
		Placement: "placement", Median: "median", Interval: "95% interval", Bar: strings.Repeat(" ", BarWidth),
		Delta: "Δ " + string(base), Migrations: "migrations", RunDelay: "run delay", Verdict: "verdict",
	}
}

// Cells are the row's cells in order.
func (r Row) Cells() []string {
	return []string{r.Placement, r.Median, r.Interval, r.Bar, r.Delta, r.Migrations, r.RunDelay, r.Verdict}
}

// Rows computes the table of a report.
func Rows(rep Report) []Row {
	sc := newScale(rep.Arms)
	rows := make([]Row, len(rep.Arms))
	for i, a := range rep.Arms {
		rows[i] = a.row(sc, rep.Metric)
		if i > 0 {
			rows[i].compare(rep.Comparisons[i-1])
		}
	}
	return rows
}

func (a Arm) row(sc scale, metric Metric) Row {
	r := Row{
		Placement: string(a.Placement), Median: None, Interval: None, Bar: strings.Repeat(" ", BarWidth),
		Delta: None, Migrations: None, RunDelay: None, Verdict: None,
	}
	if a.Runs == 0 {
		if a.Failed > 0 {
			r.Verdict = "every run failed"
		}
		return r
	}
	r.Median = fixed(a.Median, sc.decimals) + " " + metric.unit()
	if a.HaveInterval {
		r.Interval = "[" + fixed(a.Low, sc.decimals) + " … " + fixed(a.High, sc.decimals) + "]"
		r.Bar = bar(a.Low, a.Median, a.High, sc.low, sc.high)
	}
	if a.HaveMigrations {
		r.Migrations = fmt.Sprintf("%.0f", a.Migrations)
	}
	if a.HaveRunDelay {
		r.RunDelay = delayText(a.RunDelay)
	}
	return r
}

func (r *Row) compare(c Comparison) {
	if !c.Comparable {
		if r.Verdict == None {
			r.Verdict = c.Verdict
		}
		return
	}
	r.Delta = signed(c.Delta)
	if c.NoShare {
		r.Delta = sign(c.Delta) + c.number(math.Abs(c.Delta)) + c.unit()
	}
	r.Verdict = c.Short()
	r.Different, r.Better = c.Different, c.Better()
}

// signed prints a share with its sign, "−3.1%", and no sign when it rounds to 0.
func signed(share float64) string {
	text := fmt.Sprintf("%.1f%%", math.Abs(share)*100)
	if text == "0.0%" {
		return text
	}
	return sign(share) + text
}

func sign(v float64) string {
	switch {
	case v < 0:
		return "−"
	case v > 0:
		return "+"
	}
	return ""
}

// Seconds prints a time with three significant digits or more.
func Seconds(s float64) string { return fixed(s, decimals(s)) }

func fixed(s float64, decimals int) string { return strconv.FormatFloat(s, 'f', decimals, 64) }

// decimals is how many a figure needs for three significant digits.
func decimals(s float64) int {
	switch s = math.Abs(s); {
	case s >= 10_000 || s == 0:
		return 0
	case s >= 100:
		return 1
	case s >= 10:
		return 2
	case s >= 0.1:
		return 3
	case s >= 0.01:
		return 4
	}
	return 6
}

func delayText(seconds float64) string {
	if ms := seconds * 1e3; ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	} else if ms < 10_000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// scale is what all rows share: the range of the bars, and as many decimals as
// the shortest median needs, so that digits stand below each other.
type scale struct {
	low, high float64
	decimals  int
}

func newScale(arms []Arm) scale {
	sc := scale{low: math.Inf(1), high: math.Inf(-1)}
	for _, a := range arms {
		if a.Runs > 0 {
			sc.decimals = max(sc.decimals, decimals(a.Median))
		}
		if a.HaveInterval {
			sc.low, sc.high = min(sc.low, a.Low), max(sc.high, a.High)
		}
	}
	return sc
}

// bar draws an interval with its median, "──┼──", between low and high.
func bar(from, middle, to, low, high float64) string {
	at := func(x float64) int {
		if high <= low {
			return BarWidth / 2
		}
		return int(math.Round((x - low) / (high - low) * (BarWidth - 1)))
	}
	cells := make([]rune, BarWidth)
	for i := range cells {
		switch {
		case i == at(middle):
			cells[i] = '┼'
		case i >= at(from) && i <= at(to):
			cells[i] = '─'
		default:
			cells[i] = ' '
		}
	}
	return string(cells)
}

// WriteTable writes the report as text, with its warnings below.
func WriteTable(w io.Writer, rep Report) error {
	if len(rep.Arms) == 0 {
		return nil
	}
	rows := append([]Row{Headings(rep.Arms[0].Placement)}, Rows(rep)...)
	widths := make([]int, len(rows[0].Cells()))
	for _, r := range rows {
		for i, cell := range r.Cells() {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r.Cells() {
			line.WriteString(pad(cell, widths[i], rightAligned[i]) + "  ")
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	for _, a := range rep.Arms {
		if text := countsText(a.Counts); text != "" {
			out.WriteString(string(a.Placement) + ": " + text + "\n")
		}
	}
	for _, text := range rep.AllWarnings() {
		out.WriteString("note: " + text + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// countsText is an arm's counters in a line: "1234567 instructions, 1.82
// instructions per cycle".
func countsText(counts []Count) string {
	var parts []string
	for _, c := range counts {
		parts = append(parts, strconv.FormatFloat(c.Value, 'g', 6, 64)+" "+strings.ReplaceAll(c.Name, "_", " "))
	}
	return strings.Join(parts, ", ")
}

// rightAligned says which of Row's cells are numbers.
var rightAligned = [...]bool{1: true, 2: true, 4: true, 5: true, 6: true, 7: false}

func pad(text string, width int, right bool) string {
	gap := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	if right {
		return gap + text
	}
	return text + gap
}

// AllWarnings are the report's warnings and those of its comparisons.
func (rep Report) AllWarnings() []string {
	out := append([]string{}, rep.Warnings...)
	for _, c := range rep.Comparisons {
		for _, w := range c.Warnings {
			out = append(out, string(c.Other.Placement)+": "+w)
		}
	}
	return out
}
