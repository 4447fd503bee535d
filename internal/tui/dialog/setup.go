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
	columns []field.Column // ticked ones first, in their order
	shown   map[string]bool
	widths  map[string]int // that are set
	layout  string
	meters  []*meters.Meter // as columns
	metered map[string]bool
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
	rowLayout
	rowMeters
)

// rowColumns is the first row of the columns, below the meters.
func (s *Setup) rowColumns() int { return rowMeters + len(s.meters) }

// NewSetup starts from the present settings; panels are the ways to show the
// core panel.
func NewSetup(columns []field.Column, panels []string, now Settings) *Setup {
	s := &Setup{Titled: "Setup", layout: now.Layout, shown: map[string]bool{}, widths: map[string]int{}, delays: slices.Clone(delays), panels: panels,
		panel: max(slices.Index(panels, now.Panel), 0)}
	if !slices.Contains(s.delays, now.Delay) {
		s.delays = append(s.delays, now.Delay)
		slices.Sort(s.delays)
	}
	s.delay = slices.Index(s.delays, now.Delay)
	for _, text := range now.Columns {
		if c, width, err := proctable.ParseColumn(text); err == nil && !s.shown[c.ID] {
			s.columns = append(s.columns, *c)
			s.shown[c.ID], s.widths[c.ID] = true, width
		}
	}
	for _, c := range columns {
		if !s.shown[c.ID] {
			s.columns = append(s.columns, c)
		}
	}
	s.metered = map[string]bool{}
	s.meters = slices.Clone(meters.Chosen(now.Meters))
	for _, m := range s.meters {
		s.metered[m.ID] = true
	}
	for _, m := range meters.All {
		if !s.metered[m.ID] {
			s.meters = append(s.meters, m)
		}
	}
	return s
}

func (s *Setup) settings() Settings {
	out := Settings{Delay: s.delays[s.delay], Layout: s.layout}
	if len(s.panels) > 0 {
		out.Panel = s.panels[s.panel]
	}
	for _, c := range s.columns {
		if s.shown[c.ID] {
			out.Columns = append(out.Columns, proctable.ColumnText(c.ID, s.widths[c.ID]))
		}
	}
	for _, m := range s.meters {
		if s.metered[m.ID] {
			out.Meters = append(out.Meters, m.ID)
		}
	}
	if slices.Equal(out.Meters, meters.Usual()) {
		out.Meters = nil // also those that a later version adds
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
		now.Layouts = s.list.Cursor == rowLayout
		return answered(now)
	case "space":
		s.toggle()
	case "<", ">":
		s.widen(k.String() == ">")
	case "left", "-", "[", "shift+up":
		s.step(-1)
	case "right", "+", "]", "shift+down":
		s.step(1)
	default:
		s.list.Key(k, s.rowColumns()+len(s.columns), true)
	}
	return Outcome{}
}

func (s *Setup) toggle() {
	switch at := s.list.Cursor; at {
	case rowDelay:
		s.delay = (s.delay + 1) % len(s.delays)
	case rowPanel:
		s.panel = (s.panel + 1) % max(len(s.panels), 1)
	case rowLayout:
		s.note = "Enter goes on to the layouts"
	default:
		if at < s.rowColumns() {
			id := s.meters[at-rowMeters].ID
			s.metered[id] = !s.metered[id]
			return
		}
		id := s.columns[at-s.rowColumns()].ID
		s.shown[id] = !s.shown[id]
	}
}

// step changes a setting, or moves the meter or the column under the cursor.
func (s *Setup) step(by int) {
	moved := false
	switch at := s.list.Cursor; {
	case at == rowDelay:
		s.delay = max(0, min(s.delay+by, len(s.delays)-1))
	case at == rowPanel:
		s.panel = max(0, min(s.panel+by, len(s.panels)-1))
	case at == rowLayout:
	case at < s.rowColumns():
		moved = swapped(s.meters, at-rowMeters, by)
	default:
		moved = swapped(s.columns, at-s.rowColumns(), by)
	}
	if moved {
		s.list.Cursor += by
	}
}

// widen sets the width of the column under the cursor, from its usual one on.
func (s *Setup) widen(more bool) {
	at := s.list.Cursor - s.rowColumns()
	if at < 0 || s.columns[at].Width == 0 {
		s.note = "only columns have a width, and the command takes what is left"
		return
	}
	c, by := s.columns[at], -1
	if more {
		by = 1
	}
	width := max(proctable.LeastWidth, min(cmp.Or(s.widths[c.ID], c.Width)+by, proctable.MostWidth))
	if width == c.Width {
		width = 0
	}
	s.widths[c.ID] = width
}

// swapped exchanges an entry with one beside it, where there is one.
func swapped[T any](list []T, i, by int) bool {
	j := i + by
	if j < 0 || j >= len(list) {
		return false
	}
	list[i], list[j] = list[j], list[i]
	return true
}

// Render draws the settings, the meters and the columns.
func (s *Setup) Render(width, height int, th *theme.Theme) string {
	width = min(width, 96)
	n := s.rowColumns() + len(s.columns)
	body := s.list.Body(n, func(i int, selected bool) string { return s.row(i, th).Item(th, width, selected) })
	keys := rows.Keys(th, " Space", "tick", "left right", "move or change", "< >", "width", "Enter", "keep", "Esc", "cancel")
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
	case rowLayout:
		r.Add(th.Text, "layout         ")
		r.Add(th.Strong, s.layout)
		r.Add(th.Dim, "  of the columns below; Enter: choose, save, rename, delete")
	default:
		what, title, help, on := "column", "", "", false
		if i < s.rowColumns() {
			m := s.meters[i-rowMeters]
			what, title, help, on = "meter", m.Title, m.Help, s.metered[m.ID]
		} else {
			c := s.columns[i-s.rowColumns()]
			title, help, on = c.Title, c.Help, s.shown[c.ID]
			if cells := s.widths[c.ID]; cells > 0 {
				help = fmt.Sprintf("%d cells: %s", cells, help)
			}
		}
		box, style := th.Unchecked, th.Dim
		if on {
			box, style = th.Checked, th.Text
		}
		r.Left(th, th.Dim, what, 7)
		r.Add(style, box+" ")
		r.Left(th, style, title, titleWidth)
		r.Add(th.Dim, " "+help)
	}
	return r
}
