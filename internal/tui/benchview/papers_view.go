package benchview

import (
	"bytes"
	"fmt"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// papersLines are the papers that run, or ran last.
func (v *View) papersLines(width int, th *theme.Theme) []string {
	p := v.papers
	var chosen []string
	for _, one := range p.chosen {
		chosen = append(chosen, one.Name)
	}
	var left, at rows.Row
	left.Add(th.Title, " Reproduced studies: "+names(chosen))
	at.Add(th.Strong, fmt.Sprintf("%s, round %d", p.at.Paper, p.at.Round))
	at.Add(th.Text, fmt.Sprintf(" %s at most %s left ", th.Dot, chart.Clock(p.at.Left)))
	lines := v.runTitle(left, at, width, th)
	if p.remark != "" {
		lines = append(lines, rows.Indented(th, th.Dim, p.remark, width)...)
	}
	if !p.ended {
		lines = append(lines, p.now(width, th)...)
	}
	return append(lines, v.tables(p.sections, width, th)...)
}

// now is a bar for the time and a line for what runs.
func (p *papersRun) now(width int, th *theme.Theme) []string {
	share := float32(1)
	if p.budget > 0 {
		share = max(1-float32(p.at.Left)/float32(p.budget), 0)
	}
	var bar, now rows.Row
	bar.Add(th.Text, " ")
	bar.Drawn(progressBar(share, max(width-8, 1), th))
	bar.Right(th, th.Text, fmt.Sprintf("%d%%", int(share*100)), 5)
	now.Add(th.Dim, " now  ")
	if p.at.Cell == "" {
		now.Add(th.Dim, "trial run, to choose sizes that fit")
	} else {
		now.Add(th.Strong, p.at.Cell)
		now.Add(th.Text, fmt.Sprintf(" %s cell %d of %d %s %s", th.Dot, p.at.Cells+1, p.at.Of, th.Dot, p.at.Run.Placement))
		if p.at.Run.PID != 0 {
			now.Add(th.Text, " "+th.Dot+" PID ")
			now.Add(th.Accent, fmt.Sprint(p.at.Run.PID))
		}
	}
	return []string{bar.Render(th, width), now.Render(th, width)}
}

// sectionsOf is made in a command: judging many cells takes a while.
func sectionsOf(chosen []paper.Paper, m paper.Machine, all []bench.Results) []report.Section {
	var out []report.Section
	for _, p := range chosen {
		out = append(out, p.Section(m, all))
	}
	return out
}

// tables draws papers' tables.
func (v *View) tables(all []report.Section, width int, th *theme.Theme) []string {
	var lines []string
	for _, s := range all {
		lines = v.gap(lines)
		lines = append(lines, th.Header.Render(" "+rows.Text(th, s.Title)))
		for _, text := range tableText(s, width-1) {
			var r rows.Row
			r.Add(th.Text, " "+text)
			lines = append(lines, r.Render(th, width))
		}
	}
	return lines
}

// tableText are the tables and notes of a section, without what is below.
func tableText(s report.Section, width int) []string {
	var out bytes.Buffer
	s.Title, s.Lead = "", nil
	_ = report.Text(&out, s, max(width, 1)) // a buffer takes everything
	return strings.Split(strings.Trim(out.String(), "\n"), "\n")
}

// wholePaper is everything that the terminal can show of papers.
func wholePaper(chosen []paper.Paper, m paper.Machine, all []bench.Results, width int) []string {
	var lines []string
	for _, p := range chosen {
		s := p.Section(m, all)
		lines = append(append(append(lines, p.Title), chart.Wrap(p.Source, max(width, 1))...), "")
		lines = append(lines, tableText(s, width)...)
		lines = append(append(lines, p.Pictures(s, all, width)...), "")
	}
	return lines
}
