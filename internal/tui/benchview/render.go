package benchview

import (
	"cmp"
	"fmt"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

const (
	leastHistory = 3   // lines of the list of past studies that stay visible
	fairHistory  = 6   // of them are worth more than blank lines between the parts of a study
	tallHeight   = 28  // from which on the welcome lists placements and published studies
	leastPicture = 10  // free lines from which on a picture is drawn
	wideTitle    = 100 // cells from which on the title line says that all answers were right
)

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
	v.roomy, v.tall = true, height >= tallHeight
	upper := v.upper(width, th)
	if v.roomy = len(upper)+min(v.Len(), fairHistory)+2 <= height; !v.roomy {
		upper = v.upper(width, th)
	}
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
func (v *View) upper(width int, th *theme.Theme) (lines []string) {
	for _, n := range v.notes {
		lines = append(lines, rows.Indented(th, th.Warn, n, width)...)
	}
	s, past, ok := v.subject()
	switch {
	case !ok:
		return append(lines, v.welcome(width, th)...)
	case past || v.run.ended:
		lines = append(lines, v.ended(s, past, width, th)...)
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
	if n := len(s.results.Runs); v.drawn.study != s.id() || v.drawn.runs != n || v.drawn.width != width {
		lines, _ := s.results.Picture(width - 2) // ShowPicture says why there are none
		v.drawn = picture{s.id(), n, width, lines}
	}
	if len(v.drawn.lines) == 0 || len(v.drawn.lines) > height {
		return nil
	}
	lines := []string{""}
	for _, l := range drawn(v.drawn.lines, width-1, th) {
		lines = append(lines, " "+l)
	}
	return lines
}

// picture is kept as long as what it depends on is the same: activity's takes 2 ms to draw.
type picture struct {
	study       string
	runs, width int
	lines       []string
}

func (v *View) body(s study, unfinished bool, width int, th *theme.Theme) []string {
	lines := append(v.gap(nil), table(s.report, bench.TableOptions{Width: width, Running: unfinished, Tight: !v.roomy}, th)...)
	if unfinished {
		return lines
	}
	var notes []string
	if s.earlier != nil && s.earlier.Comparison.Different {
		notes = append(notes, s.earlier.Sentence())
	}
	own, _ := s.report.Notes()
	notes = append(notes, own...)
	if len(notes) > 0 {
		lines = v.gap(lines)
	}
	for _, n := range notes[:min(len(notes), bench.MostNotes)] {
		lines = append(lines, rows.Indented(th, th.Warn, n, width)...)
	}
	if err := s.results.StoreErr; err != nil {
		lines = append(lines, rows.Indented(th, th.Bad, "results not stored: "+err.Error(), width)...)
	}
	return lines
}

// heading is what was run, and how quiet it was.
func (s study) heading(th *theme.Theme) (r rows.Row) {
	r.Add(th.Title, " "+s.title())
	if s.published() {
		r.Add(th.Title, ": "+s.names())
		return r
	}
	style := th.Warn
	if s.report.IsQuiet() {
		style = th.Dim
	}
	r.Add(style, "   "+s.report.Quiet())
	return r
}

// ended is the title line of a study that has ended: one of the past with its time, this
// session's with how it ended and why.
func (v *View) ended(s study, past bool, width int, th *theme.Theme) []string {
	var right rows.Row
	switch {
	case past:
		right.Add(th.Dim, s.results.Started.Local().Format(dateTime))
	case v.run.failure != "":
		right.Add(th.Bad, "ended")
	default:
		right.Add(th.Good, "done")
	}
	if took := s.results.Took(); took > 0 {
		right.Add(th.Dim, " in "+chart.Clock(took))
	}
	if n, all := s.results.Answers(); n < all {
		right.Add(th.Bad, fmt.Sprintf("   %d of %d right", n, all))
	} else if all > 0 && width >= wideTitle {
		right.Add(th.Dim, fmt.Sprintf("   %d of %d right", n, all))
	}
	right.Add(th.Text, " ")
	lines := []string{rows.Ends(s.heading(th), right, width, th)}
	if past {
		return lines
	}
	if v.run.failure != "" {
		lines = append(lines, rows.Indented(th, th.Bad, v.run.failure, width)...)
	}
	if v.run.remark != "" {
		lines = append(lines, rows.Indented(th, th.Dim, v.run.remark, width)...)
	}
	return lines
}

// table draws a study (bench.Report.Lines), in colours that the words and glyphs say too. The
// answer alone is bold.
func table(rep bench.Report, o bench.TableOptions, th *theme.Theme) (out []string) {
	width := o.Width
	o.Width, o.ASCII = width-2, th.ASCII // a blank on either side
	style := map[bench.Part]theme.Style{bench.AnswerPart: th.Strong, bench.HeadPart: th.Header, bench.GoodPart: th.Good, bench.BadPart: th.Warn}
	for _, line := range rep.Lines(o) {
		var r rows.Row
		r.Add(th.Text, " ")
		for _, s := range line {
			if s.Part == bench.EffectPart {
				r.Effect(th, s.Text)
			} else {
				r.Add(cmp.Or(style[s.Part], th.Text), s.Text)
			}
		}
		out = append(out, r.Render(th, width))
	}
	return out
}

// progress is the title line of what runs, with the bar and what runs now.
func (v *View) progress(width int, th *theme.Theme) []string {
	r := v.run
	var at, bar rows.Row
	at.Add(th.Strong, r.at)
	at.Add(th.Text, " "+th.Dot+" "+r.left+" ")
	lines := []string{rows.Ends(r.heading(th), at, width, th)}
	bar.Add(th.Text, " ")
	bar.Drawn(widget.Progress(r.share, max(width-8, 1), th))
	bar.Right(th, th.Text, fmt.Sprintf("%d%%", int(r.share*100)), 5)
	return append(lines, bar.Render(th, width), r.nowRow(th).Render(th, width))
}

func (s *step) nowRow(th *theme.Theme) (r rows.Row) {
	r.Add(th.Dim, " now  ")
	if s.what == "" {
		r.Add(th.Dim, s.where)
		return r
	}
	r.Add(th.Strong, s.what)
	r.Add(th.Text, " "+s.where)
	if s.now.PID != 0 {
		r.Add(th.Text, " "+th.Dot+" PID ")
		r.Add(th.Accent, fmt.Sprint(s.now.PID))
	}
	if s.now.CPUs != "" {
		r.Add(th.Text, " on CPU "+s.now.CPUs)
	}
	if s.now.Reason != "" {
		r.Add(th.Dim, " "+th.Dot+" "+s.now.Reason)
	}
	return r
}

func runName(r bench.RunResult, s bench.Study) string {
	if r.Index < 0 {
		return "warm-up"
	}
	if s.Until > 0 { // as many as it takes
		return fmt.Sprintf("run %d", r.Index+1)
	}
	return fmt.Sprintf("run %d of %d", r.Index+1, s.Runs)
}

// welcome says what a study is, and of what it can be made.
func (v *View) welcome(width int, th *theme.Theme) []string {
	const text = "A study runs a workload repeatedly under several placements, interleaved, and compares them with the first: " +
		"which is faster by how much, and how certain that is."
	keys := rows.Keys(th, " n", "start a study")
	if v.o.Papers != nil {
		keys = rows.Keys(th, " n", "start a study", "p", "reproduce a published study")
	}
	lines := append([]string{th.Title.Render(" Bench")}, rows.Indented(th, th.Text, text, width)...)
	lines = append(lines, keys.Render(th, width))
	terms := func(heading string, n int, term func(i int) (name, help string)) {
		lines = append(v.gap(lines), th.Header.Render(" "+heading))
		widest := 0
		for i := range n {
			name, _ := term(i)
			widest = max(widest, len(name))
		}
		for i := range n {
			var r rows.Row
			name, help := term(i)
			r.Left(th, th.Strong, " "+name, widest+3)
			r.Add(th.Dim, help)
			lines = append(lines, r.Render(th, width))
		}
	}
	terms("Workloads", len(v.o.Workloads), func(i int) (string, string) { return v.o.Workloads[i].Name, v.o.Workloads[i].Help })
	if v.tall { // the forms have the rest
		terms("Placements", len(offered), func(i int) (string, string) { return string(offered[i].placement), offered[i].help })
	}
	if v.tall && v.o.Papers != nil {
		terms("Published studies", len(paper.Papers), func(i int) (string, string) { return paper.Papers[i].Name, paper.Papers[i].Title })
	}
	return lines
}
