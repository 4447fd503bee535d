package benchview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// leastHistory is how many lines of the list of past studies stay visible.
const leastHistory = 3

// roomyHeight is the height from which blank lines separate the parts of a study.
const roomyHeight = 28

// leastPicture is how many free lines there are from which on a picture is drawn.
const leastPicture = 10

// gap is a blank line where there is room for one.
func (v *View) gap(lines []string) []string {
	if v.roomy {
		return append(lines, "")
	}
	return lines
}

// Render draws the pane in width × height cells: the study that runs or is
// shown above, the list of past ones below.
func (v *View) Render(width, height int, th *theme.Theme) string {
	v.roomy = height >= roomyHeight
	upper := v.upper(width, th)
	if free := height - len(upper) - v.Len() - 3; free >= leastPicture {
		upper = append(upper, v.inlinePicture(width, free-1, th)...)
	}
	if v.Len() == 0 {
		return rows.Clip(strings.Join(upper, "\n"), width, height)
	}
	room := max(height-leastHistory-2, 1)
	if len(upper) > room {
		upper = append(upper[:room-1:room-1], th.Dim.Render(rows.Text(th, " … v shows everything")))
	}
	return v.Frame(width, height, append(upper, ""), nil, th)
}

// upper is what is known of the study shown, line by line.
func (v *View) upper(width int, th *theme.Theme) []string {
	var lines []string
	for _, n := range v.notes {
		lines = append(lines, rows.Indented(th, th.Warn, n, width)...)
	}
	s, past, ok := v.subject()
	switch {
	case !ok:
		return append(lines, v.welcome(width, th)...)
	case past:
		lines = append(lines, s.pastTitle(width, th))
	default:
		lines = append(lines, v.progress(width, th)...)
	}
	if s.published() {
		return append(lines, v.tables(s.sections, width, th)...)
	}
	return append(lines, v.body(s, !past && v.Running(), width, th)...)
}

// inlinePicture draws the runs of the study that is shown where the list of past
// studies leaves room.
func (v *View) inlinePicture(width, height int, th *theme.Theme) []string {
	s, _, _ := v.subject()
	if s.id() == "" || s.published() {
		return nil
	}
	if k := (pictureKey{s.id(), len(s.results.Runs), width, height}); k != v.drawnKey {
		v.drawnKey, v.drawn = k, nil
		if lines, err := s.results.Picture(width - 2); err == nil {
			v.drawn = lines
		}
	}
	if len(v.drawn) == 0 || len(v.drawn) > height {
		return nil
	}
	lines := []string{""}
	for _, l := range drawn(v.drawn, width-1, th) {
		lines = append(lines, " "+l)
	}
	return lines
}

// pictureKey is what a picture depends on.
type pictureKey struct {
	study               string
	runs, width, height int
}

// body is the table of a study with its warnings, which wait until it has ended.
func (v *View) body(s study, unfinished bool, width int, th *theme.Theme) []string {
	r, lines := s.results, v.gap(nil)
	say := func(style theme.Style, text string) { lines = append(lines, rows.Indented(th, style, text, width)...) }
	lines = append(lines, table(s.report, bench.TableOptions{Width: width, Running: unfinished, Tight: !v.roomy}, th)...)
	lines = v.gap(lines)
	if text, ok := answer(r); ok {
		say(th.Dim, text)
	}
	lines = append(lines, troubles(r, width, th)...)
	if !unfinished {
		notes, _ := s.report.Notes()
		for _, w := range notes {
			say(th.Warn, w)
		}
	}
	if r.StoreErr != nil {
		say(th.Bad, "results not stored: "+r.StoreErr.Error())
	}
	if p, _ := v.past(r.ID); p.earlier != nil {
		style := th.Dim
		if len(p.earlier.Differences) > 0 { // of the conditions
			style = th.Warn
		}
		say(style, p.earlier.Sentence())
	}
	if line, ok := v.sparkline(r.Study, th); ok {
		lines = append(lines, line.Render(th, width))
	}
	if v.roomy && r.Study.Grid == "" {
		say(th.Dim, "command  "+report.CommandLine(r.Study))
	}
	return lines
}

// answer is the result of the work, which every run that counts is checked against.
func answer(r bench.Results) (string, bool) {
	text, n, all := r.Answers()
	if n == 0 {
		return "", false
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		text = chart.Group(text)
	}
	return fmt.Sprintf("answer   %s, right in %d of %d runs", text, n, all), true
}

// heading is what was run.
func (s study) heading(th *theme.Theme) (r rows.Row) {
	r.Add(th.Title, " "+s.title())
	if s.published() {
		r.Add(th.Title, ": "+s.names())
		return r
	}
	r.Add(th.Dim, fmt.Sprintf(" %s %d runs each", th.Dot, s.results.Study.Runs))
	if n := s.results.Study.Warmup; n > 0 {
		r.Add(th.Dim, fmt.Sprintf(", %d warm-up", n))
	}
	return r
}

// pastTitle is the title line of a past study, with its conditions.
func (s study) pastTitle(width int, th *theme.Theme) string {
	var right rows.Row
	c := s.results.Conditions
	parts := []string{s.results.Started.Local().Format(dateTime)}
	for _, part := range []string{c.Host, c.Kernel, c.Governor} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if width < 100 {
		parts = parts[:1]
	}
	right.Add(th.Dim, strings.Join(parts, " "+th.Dot+" ")+" ")
	return rows.Ends(s.heading(th), right, width, th)
}

// maxTroubles bounds the list of runs that failed.
const maxTroubles = 4

// troubles lists the runs that do not count, newest first.
func troubles(r bench.Results, width int, th *theme.Theme) []string {
	var lines []string
	more := 0
	for _, run := range slices.Backward(r.Runs) {
		what, style := "failed: "+run.Err, th.Bad
		switch {
		case run.Err != "":
		case run.Touched:
			what, style = "changed by someone else: "+run.TouchedWhat, th.Warn
		default:
			continue
		}
		if len(lines) == maxTroubles {
			more++
			continue
		}
		lines = append(lines, rows.Line(th, style, fmt.Sprintf(" %s %s %s", run.Placement, runName(run, r.Study), what), width))
	}
	if more > 0 {
		lines = append(lines, th.Dim.Render(fmt.Sprintf(" and %d more", more)))
	}
	return lines
}
