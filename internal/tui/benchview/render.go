package benchview

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// leastHistory is how many lines of the list of past studies stay visible.
const leastHistory = 3

// roomyHeight is the height from which blank lines separate the parts of a study.
const roomyHeight = 28

// Free lines from which a picture is drawn, and the most rows of a chart of runs.
const (
	leastPicture = 10
	mostRows     = 20
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
	v.roomy = height >= roomyHeight
	upper := v.upper(width, th)
	if free := height - len(upper) - len(v.history) - 3; free >= leastPicture {
		upper = append(upper, v.inlinePicture(width, free-1, th)...)
	}
	if len(v.history) == 0 {
		return rows.Clip(strings.Join(upper, "\n"), width, height)
	}
	room := max(height-leastHistory-2, 1)
	if len(upper) > room {
		upper = append(upper[:room-1:room-1], th.Dim.Render(rows.Text(th, " … v shows everything")))
	}
	body := func(h int) []string { return v.pastLines(width, h, th) }
	return rows.Stack(width, height, append(upper, "", v.pastHeading(width, th)), len(v.history), body, nil)
}

// upper is what is known of the study shown, line by line.
func (v *View) upper(width int, th *theme.Theme) []string {
	var lines []string
	for _, n := range v.notes {
		lines = append(lines, rows.Indented(th, th.Warn, n, width)...)
	}
	switch i := v.index(v.shown); {
	case v.shown != "" && i >= 0:
		p := v.history[i]
		lines = append(lines, v.pastTitle(p, width, th))
		if p.grid.ID != "" {
			return append(lines, v.tables(v.sections, width, th)...)
		}
		return append(lines, v.body(p.results, p.report, false, width, th)...)
	case v.papers != nil:
		return append(lines, v.papersLines(width, th)...)
	case v.current != nil:
		lines = append(lines, v.progress(width, th)...)
		return append(lines, v.body(v.current.results, v.current.report, v.Running(), width, th)...)
	}
	return append(lines, v.welcome(width, th)...)
}

// welcome says what a study is, and of what it can be made.
func (v *View) welcome(width int, th *theme.Theme) []string {
	text := "A study runs a workload repeatedly under several placements, interleaved, and compares them with the first: how much time is saved, and how certain that is."
	keys := rows.Keys(th, " n", "start a study")
	if v.o.Papers != nil {
		keys = rows.Keys(th, " n", "start a study", "p", "reproduce a published study")
	}
	lines := append([]string{th.Title.Render(" Bench")}, rows.Indented(th, th.Text, text, width)...)
	lines = append(lines, keys.Render(th, width))
	var workloads, placements, papers [][2]string
	for _, w := range v.o.Workloads {
		workloads = append(workloads, [2]string{w.Name, w.Help})
	}
	for _, o := range offered {
		placements = append(placements, [2]string{string(o.placement), o.help})
	}
	for _, p := range paper.Papers {
		papers = append(papers, [2]string{p.Name, p.Title})
	}
	lines = append(v.gap(lines), terms("Workloads", workloads, width, th)...)
	if !v.roomy { // the forms have the rest
		return lines
	}
	lines = append(v.gap(lines), terms("Placements", placements, width, th)...)
	if v.o.Papers != nil {
		lines = append(v.gap(lines), terms("Published studies", papers, width, th)...)
	}
	return lines
}

// terms are words with what they mean, below a heading.
func terms(heading string, all [][2]string, width int, th *theme.Theme) []string {
	lines, widest := []string{th.Header.Render(" " + heading)}, 0
	for _, t := range all {
		widest = max(widest, len(t[0]))
	}
	for _, t := range all {
		var r rows.Row
		r.Left(th, th.Strong, " "+t[0], widest+3)
		r.Add(th.Dim, t[1])
		lines = append(lines, r.Render(th, width))
	}
	return lines
}

// inlinePicture draws the runs of the study that is shown where the list of past
// studies leaves room.
func (v *View) inlinePicture(width, height int, th *theme.Theme) []string {
	s, ok := v.subject()
	if !ok || s.chosen != nil {
		return nil
	}
	if k := (pictureKey{s.id, len(s.results.Runs), width, height}); k != v.drawnKey {
		v.drawnKey, v.drawn = k, nil
		if lines, err := report.Terminal(s.results, width-2, min(height-4, mostRows)); err == nil {
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
func (v *View) body(r bench.Results, rep bench.Report, unfinished bool, width int, th *theme.Theme) []string {
	lines := v.gap(nil)
	lines = append(lines, table(rep, unfinished, width, th)...)
	if v.roomy {
		lines = append(lines, th.Dim.Render(" "+rows.Text(th, bench.Legend(th.ASCII))), "")
	}
	if line, ok := answer(r); ok {
		lines = append(lines, th.Dim.Render(" "+rows.Text(th, line)))
	}
	lines = append(lines, troubles(r, width, th)...)
	if !unfinished {
		for _, w := range rep.AllWarnings() {
			lines = append(lines, rows.Indented(th, th.Warn, w, width)...)
		}
	}
	if r.StoreErr != nil {
		lines = append(lines, rows.Indented(th, th.Bad, "results not stored: "+r.StoreErr.Error(), width)...)
	}
	lines = append(lines, v.earlier(r.ID, width, th)...)
	if line, ok := v.sparkline(r.Study, th); ok {
		lines = append(lines, line.Render(th, width))
	}
	if v.roomy && r.Study.Grid == "" {
		lines = append(lines, rows.Indented(th, th.Dim, "command  "+report.CommandLine(r.Study), width)...)
	}
	return lines
}

// earlier compares a study with the last one of the same work before it; differing
// conditions are highlighted.
func (v *View) earlier(id string, width int, th *theme.Theme) []string {
	i := v.index(id)
	if id == "" || i < 0 || v.history[i].earlier == nil {
		return nil
	}
	e, style := v.history[i].earlier, th.Dim
	if len(e.Differences) > 0 {
		style = th.Warn
	}
	return rows.Indented(th, style, e.Sentence(), width)
}

// answer is the result of the work, which every run that counts is checked against.
func answer(r bench.Results) (string, bool) {
	n, text := 0, ""
	for _, run := range r.Runs {
		if run.Err == "" && run.Answer != "" {
			n++
			text = run.Answer
		}
	}
	if n == 0 {
		return "", false
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		text = chart.Group(text)
	}
	return fmt.Sprintf("answer   %s, right in %d of %d runs", text, n, len(r.Runs)), true
}

// progress is the title line of the current study, with the bar and what runs
// now while it runs.
func (v *View) progress(width int, th *theme.Theme) []string {
	c := v.current
	left, right := studyTitle(c.results.Study, th), rows.Row{}
	switch {
	case !c.ended:
		right.Add(th.Strong, fmt.Sprintf("run %d of %d", min(c.event.Done+1, c.event.Total), c.event.Total))
		right.Add(th.Text, " "+th.Dot+" "+v.timeLeft()+" ")
	case v.failure != "":
		right.Add(th.Bad, "ended ")
	default:
		right.Add(th.Good, "done ")
	}
	lines := []string{ends(left, right, width, th)}
	if v.failure != "" {
		lines = append(lines, rows.Indented(th, th.Bad, v.failure, width)...)
	}
	if c.ended {
		return lines
	}
	var bar, now rows.Row
	share := float32(c.event.Done) / float32(max(c.event.Total, 1))
	bar.Add(th.Text, " ")
	bar.Drawn(progressBar(share, max(width-8, 1), th))
	bar.Right(th, th.Text, fmt.Sprintf("%d%%", int(share*100)), 5)
	now.Add(th.Dim, " now  ")
	if c.now.PID == 0 {
		now.Add(th.Dim, "starting the next run")
	} else {
		now.Add(th.Strong, string(c.now.Placement))
		now.Add(th.Text, " "+runName(c.now, c.results.Study)+" "+th.Dot+" PID ")
		now.Add(th.Accent, fmt.Sprint(c.now.PID))
		if c.now.CPUs != "" {
			now.Add(th.Text, " on CPU "+c.now.CPUs)
		}
		if c.now.Reason != "" {
			now.Add(th.Dim, " "+th.Dot+" "+c.now.Reason)
		}
	}
	return append(lines, bar.Render(th, width), now.Render(th, width))
}

// progressBar is a bar in a colour that does not mean load.
func progressBar(share float32, width int, th *theme.Theme) []byte {
	full := widget.BarEighths(share, width) / 8
	dst := th.Accent.Append(nil, strings.Repeat(th.Bar[7], full))
	return th.Dim.Append(dst, strings.Repeat(th.Blank, width-full))
}

func runName(r bench.RunResult, s bench.Study) string {
	if r.Index < 0 {
		return "warm-up"
	}
	return fmt.Sprintf("run %d of %d", r.Index+1, s.Runs)
}

// timeLeft is an estimate: from stored results until the first run has ended, which
// is the trial where there are none.
func (v *View) timeLeft() string {
	e := v.current.event
	if e.HaveLeft {
		return "about " + chart.Clock(e.Left) + " left"
	}
	if f, ok := v.stored.Forecast(v.current.results.Study, v.o.Host); ok {
		return "about " + chart.Clock(f.Total()) + " left"
	}
	return "trial run, to estimate the time"
}

func studyTitle(s bench.Study, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Title, " "+title(s))
	r.Add(th.Dim, fmt.Sprintf(" %s %d runs each", th.Dot, s.Runs))
	if s.Warmup > 0 {
		r.Add(th.Dim, fmt.Sprintf(", %d warm-up", s.Warmup))
	}
	return r
}

// pastTitle is the title line of a past study, with its conditions.
func (v *View) pastTitle(p past, width int, th *theme.Theme) string {
	left, right := studyTitle(p.results.Study, th), rows.Row{}
	if p.grid.ID != "" {
		left = nil
		left.Add(th.Title, " Reproduced studies: "+names(p.grid.Papers))
	}
	c := p.results.Conditions
	parts := []string{p.results.Started.Local().Format(dateTime)}
	for _, part := range []string{c.Host, c.Kernel, c.Governor} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if width < 100 {
		parts = parts[:1]
	}
	right.Add(th.Dim, strings.Join(parts, " "+th.Dot+" ")+" ")
	return ends(left, right, width, th)
}

// ends puts two rows at the ends of a line; the left one is cut first.
func ends(left, right rows.Row, width int, th *theme.Theme) string {
	room := max(width-right.Width()-1, 0)
	return widget.Fit(left.Render(th, room), room+1, th.Ellipsis) + right.Render(th, width)
}

// maxTroubles bounds the list of runs that failed.
const maxTroubles = 4

// troubles lists the runs that do not count, newest first.
func troubles(r bench.Results, width int, th *theme.Theme) []string {
	var lines []string
	more := 0
	for i := len(r.Runs) - 1; i >= 0; i-- {
		run := r.Runs[i]
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
		var line rows.Row
		line.Add(style, fmt.Sprintf(" %s %s %s", run.Placement, runName(run, r.Study), what))
		lines = append(lines, line.Render(th, width))
	}
	if more > 0 {
		lines = append(lines, th.Dim.Render(fmt.Sprintf(" and %d more", more)))
	}
	return lines
}
