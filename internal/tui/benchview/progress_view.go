package benchview

import (
	"fmt"

	"piton/internal/bench"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

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

// nowRow is what runs now.
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
