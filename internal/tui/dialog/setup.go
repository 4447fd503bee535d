package dialog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/tui/meters"
	"piton/internal/tui/proctable"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Settings are what the setup dialog changes.
type Settings struct {
	Columns []string      // of the layout, in order: ids, "id:cells" where a width is set
	Layout  string        // name of the layout that has the columns
	Layouts bool          // the user goes on to the layouts
	Delay   time.Duration // between samples
	Panel   string        // how the core panel is shown
	Meters  []string      // ids of the header's meters, in order; empty: the usual ones
}

// delays are the steps of the refresh interval; -d takes any between the ends.
var delays = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
	2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// Setup asks which meters and columns to show and in what order, how often to sample
// and how to show the core panel. The value is a Settings.
type Setup struct {
	Titled
	now     Settings // but for the options
	delays  []time.Duration
	panels  []string
	options []option // meters, then columns; of both the shown ones first
	list    rows.Scroll
	note    string
}

// option is a meter or a column.
type option struct {
	kind, id, title, help string
	on                    bool
	width, usual          int // cells that are set, 0 for none, and those that a column has then
}

// The rows above the options.
const (
	rowDelay = iota
	rowPanel
	rowLayout
	rowOptions
)

// NewSetup starts from the present settings; panels are the ways to show the
// core panel.
func NewSetup(columns []field.Column, panels []string, now Settings) *Setup {
	s := &Setup{Titled: "Setup", now: now, delays: slices.Clone(delays), panels: panels}
	if !slices.Contains(s.delays, now.Delay) {
		s.delays = append(s.delays, now.Delay)
		slices.Sort(s.delays)
	}
	for _, m := range meters.Chosen(now.Meters) {
		s.add(option{kind: "meter", id: m.ID, title: m.Title, help: m.Help, on: true})
	}
	for _, m := range meters.All {
		s.add(option{kind: "meter", id: m.ID, title: m.Title, help: m.Help})
	}
	for _, text := range now.Columns {
		if c, width, err := proctable.ParseColumn(text); err == nil {
			s.add(option{kind: "column", id: c.ID, title: c.Title, help: c.Help, on: true, width: width, usual: c.Width})
		}
	}
	for _, c := range columns {
		s.add(option{kind: "column", id: c.ID, title: c.Title, help: c.Help, usual: c.Width})
	}
	return s
}

// add adds an option that is not there yet.
func (s *Setup) add(p option) {
	if !slices.ContainsFunc(s.options, func(had option) bool { return had.kind == p.kind && had.id == p.id }) {
		s.options = append(s.options, p)
	}
}

func (s *Setup) settings() Settings {
	out := s.now
	out.Columns, out.Meters, out.Layouts = nil, nil, s.list.Cursor == rowLayout
	for _, p := range s.options {
		switch {
		case p.on && p.kind == "meter":
			out.Meters = append(out.Meters, p.id)
		case p.on:
			out.Columns = append(out.Columns, proctable.ColumnText(p.id, p.width))
		}
	}
	if slices.Equal(out.Meters, meters.Usual()) {
		out.Meters = nil // also those that a later version adds
	}
	return out
}

// option is the one under the cursor, nil on the rows above.
func (s *Setup) option() *option {
	if i := s.list.Cursor - rowOptions; i >= 0 {
		return &s.options[i]
	}
	return nil
}

// Update ticks, moves, steps.
func (s *Setup) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return Outcome{}
	}
	s.note = ""
	switch key := k.String(); key {
	case "esc", "ctrl+c", "ctrl+g", "f2":
		return canceled
	case "enter":
		now := s.settings()
		if len(now.Columns) == 0 {
			s.note = "tick at least one column"
			return Outcome{}
		}
		return answered(now)
	case "space":
		if p := s.option(); p != nil {
			p.on = !p.on
		} else {
			s.step(1, true)
		}
	case "<", ">":
		s.widen(key == ">")
	case "left", "-", "[", "shift+up":
		s.step(-1, false)
	case "right", "+", "]", "shift+down":
		s.step(1, false)
	default:
		s.list.Key(k, rowOptions+len(s.options), true)
	}
	return Outcome{}
}

// step changes a setting, or moves the meter or the column under the cursor.
func (s *Setup) step(by int, around bool) {
	switch at := s.list.Cursor; at {
	case rowDelay:
		s.now.Delay = neighbor(s.delays, s.now.Delay, by, around)
	case rowPanel:
		s.now.Panel = neighbor(s.panels, s.now.Panel, by, around)
	case rowLayout:
		s.note = "Enter goes on to the layouts"
	default:
		i, j := at-rowOptions, at-rowOptions+by
		if j >= 0 && j < len(s.options) && s.options[i].kind == s.options[j].kind {
			s.options[i], s.options[j] = s.options[j], s.options[i]
			s.list.Cursor += by
		}
	}
}

// neighbor is the value beside one in a list, which begins again at its end if it goes around.
func neighbor[T comparable](list []T, now T, by int, around bool) T {
	n := len(list)
	if n == 0 {
		return now
	}
	i := slices.Index(list, now) + by
	if around {
		return list[(i+n)%n]
	}
	return list[max(0, min(i, n-1))]
}

// widen sets the width of the column under the cursor, from its usual one on.
func (s *Setup) widen(more bool) {
	p := s.option()
	if p == nil || p.usual == 0 {
		s.note = "only columns have a width, and the command takes what is left"
		return
	}
	by := -1
	if more {
		by = 1
	}
	p.width = max(proctable.LeastWidth, min(cmp.Or(p.width, p.usual)+by, proctable.MostWidth))
	if p.width == p.usual {
		p.width = 0
	}
}

// Render draws the settings, the meters and the columns.
func (s *Setup) Render(width, height int, th *theme.Theme) string {
	width = min(width, 96)
	n := rowOptions + len(s.options)
	body := s.list.Body(n, func(i int, selected bool) string { return s.row(i, th).Item(th, width, selected) })
	foot := noteOr(s.note, th, width, " Space", "tick", "left right", "move or change", "< >", "width", "Enter", "keep", "Esc", "cancel")
	return rows.Stack(width, height, nil, n, body, append(s.more(width, th), "", foot))
}

// helpFrom is the cells before the help of an option, and moreOption the lines that have it
// below the list where it is cut.
const helpFrom, moreOption = 24, 2

// more is the help of the option under the cursor where that is cut beside it; as many
// lines for all, so that the dialog keeps its size.
func (s *Setup) more(width int, th *theme.Theme) []string {
	cut := func(p *option) bool { return helpFrom+widget.Width(p.text()) >= width }
	if !slices.ContainsFunc(s.options, func(p option) bool { return cut(&p) }) {
		return nil
	}
	var lines []string
	if p := s.option(); p != nil && cut(p) {
		lines = rows.Wrap(th, p.text(), max(width-2, 1))
	}
	out := []string{""}
	for i := range moreOption {
		out = append(out, " "+th.Text.Render(widget.LineAt(lines, i)))
	}
	return out
}

// text is the help of an option, with the width of a column where one is set.
func (p *option) text() string {
	if p.width > 0 {
		return fmt.Sprintf("%d cells: %s", p.width, p.help)
	}
	return p.help
}

// titleWidth is that of the longest title of a column, with a blank.
const titleWidth = 11

func (s *Setup) row(i int, th *theme.Theme) (r rows.Row) {
	if i < rowOptions {
		label := [...]string{"refresh every  ", "core panel     ", "layout         "}[i]
		r.Add(th.Text, label)
		r.Add(th.Strong, [...]string{s.now.Delay.String(), s.now.Panel, s.now.Layout}[i])
		r.Add(th.Dim, [...]string{rowLayout: "  Enter: choose, save, rename, delete"}[i])
		return r
	}
	p := s.options[i-rowOptions]
	box, style := th.Unchecked, th.Dim
	if p.on {
		box, style = th.Checked, th.Text
	}
	r.Left(th, th.Dim, p.kind, 7)
	r.Add(style, box+" ")
	r.Left(th, style, p.title, titleWidth)
	r.Add(th.Dim, " "+p.text())
	return r
}
