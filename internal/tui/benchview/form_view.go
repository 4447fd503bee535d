package benchview

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Widths of the form's second column: of values, of placements that are typed, and of
// those beside their boxes.
const (
	valueWidth = 12
	otherWidth = 25
	placeWidth = 21
)

// Render draws the fields, what is wrong with them or how long the study takes, and
// the keys.
func (f *Form) Render(width, height int, th *theme.Theme) string {
	width = min(width, 90)
	f.cursor = nil
	labels := 0
	for i := range f.fields {
		if !f.fields[i].isTick() {
			labels = max(labels, widget.Width(f.fields[i].label)+2)
		}
	}
	body := f.list.Body(len(f.fields), func(i int, selected bool) string {
		if selected && f.fields[i].input != nil {
			return f.typing(&f.fields[i], labels, width, th)
		}
		return f.line(i, labels, th).Item(th, width, selected)
	})
	keys := rows.Keys(th, " Enter", "start", "up down", "field", "left right", "change", "Space", "tick", "Esc", "cancel")
	return rows.Stack(width, height, nil, len(f.fields), body, append(f.forecast(width, th), keys.Render(th, width)))
}

// forecast is how long the study takes, with a warning when its runs are too short; or
// what is wrong with it.
func (f *Form) forecast(width int, th *theme.Theme) []string {
	study, err := f.study()
	style, text, short := th.Text, "", ""
	switch {
	case err != nil && f.wrong:
		style, text = th.Bad, err.Error()
	case err != nil:
		style, text = th.Warn, err.Error()
	case f.Forecast != nil:
		text = fmt.Sprintf("%d runs; a trial run first estimates the time", study.Total())
		if f.trying != "" {
			text = "a trial run shows how long a run takes"
		}
		if c, ok := f.Forecast(study); ok {
			text, short = c.Sentence(), study.ShortRuns(c.Work)
			if length := study.Length(); length != "" {
				text = length + " → " + text
			}
		}
	}
	lines := []string{rows.Line(th, style, " "+text, width)}
	if short != "" {
		lines = append(lines, rows.Line(th, th.Warn, " "+short, width))
	}
	return lines
}

// line is a field that is not being typed.
func (f *Form) line(i, labels int, th *theme.Theme) (r rows.Row) {
	fd := &f.fields[i]
	switch {
	case fd.isTick():
		box, style, first := th.Unchecked, th.Dim, ""
		if fd.ticked {
			box, style = th.Checked, th.Text
		}
		if !f.fields[i-1].isTick() {
			first = "place"
		}
		r.Left(th, th.Dim, first, labels)
		r.Add(style, box+" ")
		r.Left(th, style, fd.label, placeWidth)
	case fd.words != nil:
		r.Left(th, th.Dim, fd.label, labels)
		r.Left(th, th.Strong, "< "+fd.value()+" >", valueWidth)
	default:
		r.Left(th, th.Dim, fd.label, labels)
		r.Left(th, th.Strong, fd.input.Value(), fd.room)
	}
	r.Add(th.Dim, " "+fd.help)
	return r
}

// typing draws the text field under the cursor. It is not reversed as a whole, so
// that the terminal's cursor can be seen in it.
func (f *Form) typing(fd *field, labels, width int, th *theme.Theme) string {
	room := max(min(fd.room, width-labels-1), 2)
	text := fd.input.Render(room, th)
	f.cursor = tea.NewCursor(1+labels+fd.input.CursorX(), f.list.Cursor-f.list.Top)
	var r rows.Row
	r.Add(th.Accent, th.Cursor)
	r.Left(th, th.Accent, fd.label, labels)
	r.Drawn([]byte(text + strings.Repeat(" ", max(room-widget.Width(text), 0))))
	r.Add(th.Dim, " "+fd.help)
	return r.Render(th, width)
}

// Cursor is in the text field under the cursor.
func (f *Form) Cursor() *tea.Cursor { return f.cursor }
