package benchview

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// leastHistory is how many lines of the list of past studies stay in sight.
const leastHistory = 3

// roomyHeight is the height from which blank lines set the parts of a study off.
const roomyHeight = 28

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
	if len(v.history) == 0 {
		return rows.Clip(strings.Join(upper, "\n"), width, height)
	}
	room := max(height-leastHistory-2, 1)
	if len(upper) > room {
		upper = append(upper[:room-1:room-1], th.Dim.Render(" "+th.Ellipsis))
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
			return append(lines, v.sections(v.text, width, th)...)
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

func (v *View) welcome(width int, th *theme.Theme) []string {
	text := "A study runs a workload again and again under several placements, interleaved, and says whether one of them is faster, by how much, and how sure that is."
	lines := append([]string{th.Title.Render(" Bench")}, rows.Indented(th, th.Text, text, width)...)
	lines = append(lines, "")
	widest := 0
	for _, w := range v.o.Workloads {
		widest = max(widest, len(w.Name))
	}
	for _, w := range v.o.Workloads {
		var r rows.Row
		r.Left(th, th.Strong, " "+w.Name, widest+2)
		r.Add(th.Dim, w.Help)
		lines = append(lines, r.Render(th, width))
	}
	keys := rows.Keys(th, " n", "start a study")
	if v.o.Papers != nil {
		keys = rows.Keys(th, " n", "start a study", "p", "a published study again")
	}
	return append(lines, "", keys.Render(th, width))
}

// body is the table of a study with its remarks. That there are too few runs goes
// without saying while more are coming.
func (v *View) body(r bench.Results, rep bench.Report, unfinished bool, width int, th *theme.Theme) []string {
	lines := v.gap(nil)
	lines = append(lines, table(rep, width, th)...)
	lines = v.gap(lines)
	if line, ok := answer(r); ok {
		lines = append(lines, th.Dim.Render(" "+rows.Text(th, line)))
	}
	lines = append(lines, troubles(r, width, th)...)
	if !unfinished {
		for _, w := range rep.AllWarnings() {
			lines = append(lines, rows.Indented(th, th.Dim, w, width)...)
		}
	}
	if r.StoreErr != nil {
		lines = append(lines, rows.Indented(th, th.Bad, "results could not be kept: "+r.StoreErr.Error(), width)...)
	}
	lines = append(lines, v.earlier(r.ID, width, th)...)
	if line, ok := v.sparkline(r.Study, th); ok {
		lines = append(lines, line.Render(th, width))
	}
	return lines
}

// earlier compares a study with the last one of the same work before it; other
// conditions stand out.
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

// answer is what the work came to, which every run that counts has been checked
// against.
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
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		text = thousands(value)
	}
	return fmt.Sprintf("answer   %s, right in %d of %d runs", text, n, len(r.Runs)), true
}

// thousands groups the digits of a number, "14,200".
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// progress is the title line of the current study, with the bar and what runs
// now while it runs.
func (v *View) progress(width int, th *theme.Theme) []string {
	c := v.current
	left, right := studyTitle(c.results.Study, th), rows.Row{}
	switch {
	case !c.ended:
		right.Add(th.Strong, fmt.Sprintf("running %d/%d", c.event.Done, c.event.Total))
		right.Add(th.Text, " "+th.Dot+" "+timeLeft(c.event)+" ")
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
	bar.Drawn(progressBar(share, max(min(width-8, 72), 1), th))
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

// progressBar is a bar whose colour does not speak of load.
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

func timeLeft(e bench.Event) string {
	if !e.HaveLeft {
		return "time left unknown"
	}
	d := e.Left.Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d left", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d:%02d left", int(d.Minutes()), int(d.Seconds())%60)
}

func studyTitle(s bench.Study, th *theme.Theme) rows.Row {
	var r rows.Row
	r.Add(th.Title, " "+title(s))
	r.Add(th.Dim, fmt.Sprintf(" %s %d runs each", th.Dot, s.Runs))
	if s.Warmup > 0 {
		r.Add(th.Dim, fmt.Sprintf(" after %d to warm up", s.Warmup))
	}
	return r
}

// pastTitle names a study of the past and the conditions it ran under.
func (v *View) pastTitle(p past, width int, th *theme.Theme) string {
	left, right := studyTitle(p.results.Study, th), rows.Row{}
	if p.grid.ID != "" {
		left = nil
		left.Add(th.Title, " paper "+names(p.grid.Papers))
	}
	c := p.results.Conditions
	parts := []string{p.results.Started.Local().Format("2006-01-02 15:04")}
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
			what, style = "touched: "+run.TouchedWhat, th.Warn
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
