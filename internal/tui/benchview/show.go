package benchview

import (
	"bytes"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// ShowPicture opens the pictures and all tables of the study that is shown.
func (v *View) ShowPicture() tea.Cmd {
	s, _, _ := v.subject()
	if s.id() == "" {
		return v.say("Picture", "No results yet.")
	}
	draw := func(width int, th *theme.Theme) []string { return drawn(v.picture(s, width), width, th) }
	return v.dialogs.Push(dialog.NewPager(s.title(), draw), nil)
}

// CompareStudies marks the past study under the cursor, or compares it with the one that is
// marked: the later against the earlier.
func (v *View) CompareStudies() tea.Cmd {
	p, ok := v.Selected()
	then, have := v.past(v.marked)
	if !ok || p.published() {
		return v.say("Compare", "Choose a study of the history, press c, choose another one, press c again.")
	}
	if v.marked = ""; !have {
		v.marked = p.id()
	}
	v.Load(v.Rows(), true) // which are drawn anew
	if !have || p.id() == then.id() {
		return nil
	}
	if p.results.Started.Before(then.results.Started) {
		p, then = then, p
	}
	cs, ok := bench.Between(p.results, then.results)
	if !ok {
		return v.say("Compare", fmt.Sprintf("%s and %s are not the same work.", then.title(), p.title()))
	}
	return v.dialogs.Push(dialog.NewPager("Compare: "+p.title(), func(width int, th *theme.Theme) []string {
		return drawn(between(cs, p.results, then.results, width), width, th)
	}), nil)
}

// between are two studies compared, in lines of at most width cells.
func between(cs []bench.Comparison, now, then bench.Results, width int) []string {
	out := []string{now.Started.Local().Format(dateTime) + " against " + then.Started.Local().Format(dateTime), ""}
	var e chart.Effects
	for i, c := range cs {
		out = append(out, chart.Wrap(fmt.Sprintf("%s: %s", c.Other.Placement, c.Verdict), width)...)
		row := c.Effect()
		row.Colour = i
		e.Rows = append(e.Rows, row)
	}
	out = append(append(out, ""), e.Text(width)...)
	for _, d := range now.Conditions.Differences(then.Conditions) {
		out = append(out, chart.Wrap("Conditions differ: "+d, width)...)
	}
	return out
}

// Command is the command that runs the study shown again, "" where there is none.
func (v *View) Command() string {
	s, _, _ := v.subject()
	if s.id() == "" || s.published() {
		return ""
	}
	return report.CommandLine(s.results.Study)
}

// drawn are the lines of a picture, in ASCII where the terminal has no more.
func drawn(lines []string, width int, th *theme.Theme) (out []string) {
	for _, l := range lines {
		if th.ASCII {
			l = chart.ASCII.Replace(l)
		}
		out = append(out, rows.Line(th, th.Text, l, width))
	}
	return out
}

func (v *View) picture(s study, width int) []string {
	if s.published() {
		return wholePaper(s.chosen, v.o.Machine, s.cells, width)
	}
	// A buffer takes everything.
	var out bytes.Buffer
	_ = bench.WriteText(&out, s.results, bench.TableOptions{Width: width, Running: v.Running() && s.id() == v.run.id()})
	lines, err := s.results.Picture(width)
	if err != nil {
		lines = []string{"picture not drawn: " + err.Error()}
	}
	fmt.Fprintf(&out, "\n%s\n\n%s\n\n", strings.Join(lines, "\n"), report.CommandLine(s.results.Study))
	_, rest := s.report.Notes()
	_ = report.Conditions(s.results.Conditions, rest...).Text(&out, width)
	return strings.Split(out.String(), "\n")
}

// WriteReport writes the study that is shown as HTML and SVG.
func (v *View) WriteReport() tea.Cmd {
	s, _, _ := v.subject()
	switch {
	case s.id() == "":
		return v.say("Report", "No results yet.")
	case v.o.Reports == "":
		return v.say("Report", "No report written: neither XDG_STATE_HOME nor HOME is set.")
	}
	machine, dir := v.o.Machine, v.o.Reports
	return func() tea.Msg {
		page := report.Page{Title: s.title(), Sections: paper.Sections(s.chosen, machine, s.cells)}
		if !s.published() {
			page.Sections = []report.Section{report.Study(s.results, s.earlier)}
		}
		html, svg, err := report.WriteFiles(dir, "report-"+s.id(), page)
		return func() tea.Cmd {
			if err != nil {
				return v.say("Report", fmt.Sprintf("No report written: %v", err))
			}
			return v.say("Report written", html, svg)
		}
	}
}

func (v *View) say(title string, lines ...string) tea.Cmd {
	return v.dialogs.Push(dialog.NewText(title, lines), nil)
}

func (v *View) tables(all []report.Section, width int, th *theme.Theme) (lines []string) {
	for _, s := range all {
		lines = append(v.gap(lines), th.Header.Render(" "+rows.Text(th, s.Title)))
		s.Title, s.Lead = "", nil
		for _, text := range sectionText(s, width-1) {
			lines = append(lines, rows.Line(th, th.Text, " "+text, width))
		}
	}
	return lines
}

func sectionText(s report.Section, width int) []string {
	var out bytes.Buffer
	_ = report.Text(&out, s, max(width, 1)) // a buffer takes everything
	return strings.Split(strings.Trim(out.String(), "\n"), "\n")
}

// wholePaper is everything that the terminal can show of published studies.
func wholePaper(chosen []paper.Paper, m paper.Machine, all []bench.Results, width int) (lines []string) {
	for _, p := range chosen {
		s := p.Section(m, all)
		lines = append(lines, sectionText(s, width)...)
		lines = append(append(lines, p.Pictures(s, all, width)...), "")
	}
	return lines
}
