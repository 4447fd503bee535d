package dialog

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Settings are what the setup dialog changes.
type Settings struct {
	Columns []string      // ids of the columns shown, in order
	Delay   time.Duration // between samples
	Panel   string        // how the core panel is shown
}

// delays are the steps of the refresh interval; -d takes any between the ends.
var delays = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
	2 * time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// Setup asks which columns to show and in what order, how often to sample and
// how to show the core panel. The value is a Settings.
type Setup struct {
	Titled
	columns []field.Column // ticked ones first, in their order
	shown   map[string]bool
	delays  []time.Duration
	delay   int
	panels  []string
	panel   int
	list    rows.Scroll
	note    string
}

// The rows above the columns.
const (
	rowDelay = iota
	rowPanel
	rowColumns
)

// NewSetup starts from the present settings; panels are the ways to show the
// core panel.
func NewSetup(columns []field.Column, panels []string, now Settings) *Setup {
	s := &Setup{Titled: "Setup", shown: map[string]bool{}, delays: slices.Clone(delays), panels: panels,
		panel: max(slices.Index(panels, now.Panel), 0)}
	if !slices.Contains(s.delays, now.Delay) {
		s.delays = append(s.delays, now.Delay)
		slices.Sort(s.delays)
	}
	s.delay = slices.Index(s.delays, now.Delay)
	for _, id := range now.Columns {
		i := slices.IndexFunc(columns, func(c field.Column) bool { return c.ID == id })
		if i >= 0 && !s.shown[id] {
			s.columns = append(s.columns, columns[i])
			s.shown[id] = true
		}
	}
	for _, c := range columns {
		if !s.shown[c.ID] {
			s.columns = append(s.columns, c)
		}
	}
	return s
}

func (s *Setup) settings() Settings {
	out := Settings{Delay: s.delays[s.delay]}
	if len(s.panels) > 0 {
		out.Panel = s.panels[s.panel]
	}
	for _, c := range s.columns {
		if s.shown[c.ID] {
			out.Columns = append(out.Columns, c.ID)
		}
	}
	return out
}

// Update ticks, moves, steps.
func (s *Setup) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return Outcome{}
	}
	s.note = ""
	switch k.String() {
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
		s.toggle()
	case "left", "-", "[", "shift+up":
		s.step(-1)
	case "right", "+", "]", "shift+down":
		s.step(1)
	default:
		s.list.Key(k, rowColumns+len(s.columns), true)
	}
	return Outcome{}
}

func (s *Setup) toggle() {
	switch at := s.list.Cursor; at {
	case rowDelay:
		s.delay = (s.delay + 1) % len(s.delays)
	case rowPanel:
		s.panel = (s.panel + 1) % max(len(s.panels), 1)
	default:
		id := s.columns[at-rowColumns].ID
		s.shown[id] = !s.shown[id]
	}
}

// step changes a setting, or moves the column under the cursor.
func (s *Setup) step(by int) {
	switch at := s.list.Cursor; at {
	case rowDelay:
		s.delay = max(0, min(s.delay+by, len(s.delays)-1))
	case rowPanel:
		s.panel = max(0, min(s.panel+by, len(s.panels)-1))
	default:
		i := at - rowColumns
		j := i + by
		if j < 0 || j >= len(s.columns) {
			return
		}
		s.columns[i], s.columns[j] = s.columns[j], s.columns[i]
		s.list.Cursor += by
	}
}

// Render draws the settings and the columns.
func (s *Setup) Render(width, height int, th *theme.Theme) string {
	width = min(width, 96)
	n := rowColumns + len(s.columns)
	body := s.list.Body(n, func(i int, selected bool) string { return s.row(i, th).Item(th, width, selected) })
	keys := rows.Keys(th, " Space", "tick", "left right", "move or change", "Enter", "keep", "Esc", "cancel")
	if s.note != "" {
		keys = nil
		keys.Add(th.Bad, " "+s.note)
	}
	return rows.Stack(width, height, nil, n, body, []string{"", keys.Render(th, width)})
}

// titleWidth is that of the longest title of a column, with a blank.
const titleWidth = 11

func (s *Setup) row(i int, th *theme.Theme) rows.Row {
	var r rows.Row
	switch i {
	case rowDelay:
		r.Add(th.Text, "refresh every  ")
		r.Add(th.Strong, s.delays[s.delay].String())
	case rowPanel:
		r.Add(th.Text, "core panel     ")
		if len(s.panels) > 0 {
			r.Add(th.Strong, s.panels[s.panel])
		}
	default:
		c := s.columns[i-rowColumns]
		box, style := th.Unchecked, th.Dim
		if s.shown[c.ID] {
			box, style = th.Checked, th.Text
		}
		r.Add(style, box+" ")
		r.Left(th, style, c.Title, titleWidth)
		r.Add(th.Dim, " "+c.Help)
	}
	return r
}
