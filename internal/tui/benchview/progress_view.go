package benchview

import (
	"fmt"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// progress is the title line of the current study, with the bar and what runs
// now while it runs.
func (v *View) progress(width int, th *theme.Theme) []string {
	c := v.current
	var at rows.Row
	at.Add(th.Strong, fmt.Sprintf("run %d of %d", min(c.event.Done+1, c.event.Total), c.event.Total))
	at.Add(th.Text, " "+th.Dot+" "+v.timeLeft()+" ")
	lines := v.runTitle(studyTitle(c.results.Study, th), at, width, th)
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

// runTitle is the title line of what runs, with how far it is, or of what ran, with how
// it ended; below it why, if it failed.
func (v *View) runTitle(left, at rows.Row, width int, th *theme.Theme) []string {
	var failure []string
	if v.failure != "" {
		failure = rows.Indented(th, th.Bad, v.failure, width)
	}
	if !v.Running() {
		at = nil
		if v.failure != "" {
			at.Add(th.Bad, "ended ")
		} else {
			at.Add(th.Good, "done ")
		}
	}
	return append([]string{ends(left, at, width, th)}, failure...)
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
