package benchview

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
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
	switch i := v.index(v.shown); {
	case v.shown != "" && i >= 0:
		return v.history[i].subject(), true
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

// openPicture shows all that the terminal can.
func (v *View) openPicture() tea.Cmd {
	s, ok := v.subject()
	if !ok {
		return v.say("Picture", "There are no results yet.")
	}
	draw := func(width int, th *theme.Theme) []string { return drawn(v.picture(s, width), width, th) }
	return v.o.Dialogs.Push(dialog.NewPager(s.title, draw), nil)
}

// inASCII has the marks of pictures for terminals that have ASCII alone.
var inASCII = strings.NewReplacer("█", "#", "▓", "%", "▒", "+", "░", ":", "╷", "|", "▇", "#", "▆", "#", "▅", "+", "▄", "+", "▃", "-", "▂", "-", "▁", "_")

// drawn are lines of a picture as the terminal can show them.
func drawn(lines []string, width int, th *theme.Theme) []string {
	var out []string
	for _, l := range lines {
		if th.ASCII {
			l = inASCII.Replace(l)
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
	lines, err := report.Terminal(s.results, width)
	switch {
	case err != nil:
		return []string{"The picture cannot be drawn: " + err.Error()}
	case len(lines) == 0:
		return []string{"There is nothing to draw yet."}
	}
	return lines
}

// wroteMsg says where a page was written.
type wroteMsg struct {
	html, svg string
	err       error
}

// write writes what is shown as a page and as SVG, beside the screen.
func (v *View) write() tea.Cmd {
	s, ok := v.subject()
	switch {
	case !ok:
		return v.say("Write", "There are no results yet.")
	case v.o.Reports == "":
		return v.say("Write", "There is nowhere to write to: neither XDG_STATE_HOME nor HOME is set.")
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
		return v.say("Write", fmt.Sprintf("Nothing was written: %v", msg.err))
	}
	return v.say("Written", msg.html, msg.svg)
}

func (v *View) say(title string, lines ...string) tea.Cmd {
	var all []dialog.Line
	for _, l := range lines {
		all = append(all, dialog.Line{Tone: dialog.Plain, Text: l})
	}
	return v.o.Dialogs.Push(dialog.NewMessage(title, all), nil)
}
