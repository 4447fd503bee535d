package dialog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/tui/meters"
	"piton/internal/tui/proctable"
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
	Form
	now Settings
}

// NewSetup starts from the present settings; panels are the ways to show the
// core panel.
func NewSetup(columns []field.TaskColumn, panels []string, now Settings) *Setup {
	s := &Setup{now: now}
	s.Form = Form{Titled: "Setup", Enter: "keep", Opener: "f2", Answer: s.answer, Other: s.order}
	steps := slices.Clone(delays)
	if !slices.Contains(steps, now.Delay) {
		steps = append(steps, now.Delay)
		slices.Sort(steps)
	}
	words := group.Each(steps, time.Duration.String)
	s.Fields = []Field{
		{Label: "refresh", Value: now.Delay.String(), Words: words, Help: "time between two samples",
			Set: func(text string) (err error) { s.now.Delay, err = time.ParseDuration(text); return err }},
		{Label: "core panel", Value: now.Panel, Words: panels, Help: "how the CPUs above the list are shown",
			Set: func(text string) error { s.now.Panel = text; return nil }},
		{Label: "layout", Value: now.Layout, Help: "Enter: choose, save, rename, delete"}}
	add := func(fd Field) { // unless it is there
		fd.Kind, fd.Keys = Tick, append([]string{"left right", "move"}, fd.Keys...)
		if !slices.ContainsFunc(s.Fields, func(had Field) bool { return had.Group == fd.Group && had.Label == fd.Label }) {
			s.Fields = append(s.Fields, fd)
		}
	}
	for _, m := range meters.Chosen(now.Meters) {
		add(Field{Group: "meter", Label: m.Title, Value: m.ID, Help: m.Help, On: true})
	}
	for _, m := range meters.All {
		add(Field{Group: "meter", Label: m.Title, Value: m.ID, Help: m.Help})
	}
	for _, text := range now.Columns {
		if c, width, err := proctable.ParseColumn(text); err == nil {
			add(columnField(c, width, true))
		}
	}
	for i := range columns {
		add(columnField(&columns[i], 0, false))
	}
	return s
}

// columnField is a column, of so many cells where its width is set.
func columnField(c *field.TaskColumn, width int, on bool) Field {
	fd := Field{Group: "column", Label: c.Title, Value: proctable.ColumnText(c.ID, width), Help: c.Help, On: on}
	if c.Width > 0 {
		fd.Keys = []string{"< >", "width"}
	}
	if width > 0 {
		fd.Help = fmt.Sprintf("%d cells: %s", width, c.Help)
	}
	return fd
}

func (s *Setup) answer() (any, error) {
	out := s.now
	out.Columns, out.Meters, out.Layouts = nil, nil, s.At().Label == "layout"
	for _, fd := range s.Fields {
		switch {
		case fd.On && fd.Group == "meter":
			out.Meters = append(out.Meters, fd.Value)
		case fd.On:
			out.Columns = append(out.Columns, fd.Value)
		}
	}
	if slices.Equal(out.Meters, meters.Usual()) {
		out.Meters = nil // also those that a later version adds
	}
	if len(out.Columns) == 0 {
		return nil, errors.New("tick at least one column")
	}
	return out, nil
}

// order moves the meter or the column under the cursor, or sets the column's width.
func (s *Setup) order(key string) bool {
	at := s.At()
	if at.Kind != Tick {
		return false
	}
	switch key {
	case "left", "-", "[", "shift+up":
		s.Swap(-1)
	case "right", "+", "]", "shift+down":
		s.Swap(1)
	case "<":
		at.widen(-1)
	case ">":
		at.widen(1)
	default:
		return false
	}
	return true
}

// widen sets the width of a column, from its usual one on; the command takes what is left.
func (fd *Field) widen(by int) {
	c, width, err := proctable.ParseColumn(fd.Value)
	if err != nil || fd.Group != "column" || c.Width == 0 {
		return
	}
	if width = max(proctable.LeastWidth, min(cmp.Or(width, c.Width)+by, proctable.MostWidth)); width == c.Width {
		width = 0
	}
	now := columnField(c, width, fd.On)
	fd.Value, fd.Help = now.Value, now.Help
}
