package benchview

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// subject is what the upper half shows: one study, or papers.
type subject struct {
	id      string // in the names of files
	title   string
	results bench.Results
	chosen  []paper.Paper // nil for a study
	all     []bench.Results
}

// subject returns it; ok is false when nothing is shown.
func (v *View) subject() (s subject, ok bool) {
	switch p, ok := v.past(v.shown); {
	case ok:
		return p.subject(), true
	case v.papers != nil:
		s = subject{title: "Reproduced studies", chosen: v.papers.chosen, all: v.papers.all, id: v.papers.at.Grid.ID}
	case v.current != nil:
		s = subject{title: title(v.current.results.Study), results: v.current.results, id: v.current.results.ID}
	default:
		return subject{}, false
	}
	return s, s.id != ""
}

func (p past) subject() subject {
	if p.grid.ID != "" {
		chosen, _ := paper.Lookup(p.grid.Papers) // none of a newer piton
		return subject{title: "Reproduced studies", chosen: chosen, all: p.cells, id: p.grid.ID}
	}
	return subject{title: title(p.results.Study), results: p.results, id: p.results.ID}
}

// pagerRows is the height of the chart of runs in a pager.
const pagerRows = 12

// ShowPicture opens the pictures and all tables of the study that is shown.
func (v *View) ShowPicture() tea.Cmd {
	s, ok := v.subject()
	if !ok {
		return v.say("Picture", "No results yet.")
	}
	draw := func(width int, th *theme.Theme) []string { return drawn(v.picture(s, width), width, th) }
	return v.o.Dialogs.Push(dialog.NewPager(s.title, draw), nil)
}

// drawn are the lines of a picture, in ASCII where the terminal has no more.
func drawn(lines []string, width int, th *theme.Theme) []string {
	var out []string
	for _, l := range lines {
		if th.ASCII {
			l = chart.ASCII.Replace(l)
		}
		var r rows.Row
		r.Add(th.Text, l)
		out = append(out, r.Render(th, width))
	}
	return out
}

func (v *View) picture(s subject, width int) []string {
	if s.chosen != nil {
		return wholePaper(s.chosen, v.o.Machine, s.all, width)
	}
	lines, err := report.Terminal(s.results, width, pagerRows)
	switch {
	case err != nil:
		return []string{"picture not drawn: " + err.Error()}
	case len(lines) == 0:
		return []string{"Nothing to draw yet."}
	}
	return lines
}

// wroteMsg says where a page was written.
type wroteMsg struct {
	html, svg string
	err       error
}

// WriteReport writes the study that is shown as HTML and SVG.
func (v *View) WriteReport() tea.Cmd {
	s, ok := v.subject()
	switch {
	case !ok:
		return v.say("Report", "No results yet.")
	case v.o.Reports == "":
		return v.say("Report", "No report written: neither XDG_STATE_HOME nor HOME is set.")
	}
	machine, dir := v.o.Machine, v.o.Reports
	return func() tea.Msg {
		page := report.Page{Title: s.title}
		if page.Sections = paper.Sections(s.chosen, machine, s.all); s.chosen == nil {
			page.Sections = []report.Section{report.Study(s.results)}
		}
		html, svg, err := report.WriteFiles(dir, "report-"+s.id, page)
		return wroteMsg{html, svg, err}
	}
}

func (v *View) wrote(msg wroteMsg) tea.Cmd {
	if msg.err != nil {
		return v.say("Report", fmt.Sprintf("No report written: %v", msg.err))
	}
	return v.say("Report written", msg.html, msg.svg)
}

func (v *View) say(title string, lines ...string) tea.Cmd {
	var all []dialog.Line
	for _, l := range lines {
		all = append(all, dialog.Line{Tone: dialog.Plain, Text: l})
	}
	return v.o.Dialogs.Push(dialog.NewMessage(title, all), nil)
}
