package benchview

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// valueWidth is the width of the form's second column.
const valueWidth = 12

// Render draws the fields, what is wrong with them or how long the study takes, and
// the keys.
func (f *Form) Render(width, height int, th *theme.Theme) string {
	width = min(width, 90)
	f.inputX, f.inputY = -1, -1
	body := func(h int) []string {
		from, to := f.list.Window(len(f.fields), h)
		var lines []string
		for i := from; i < to; i++ {
			if i == f.list.Cursor && f.fields[i].kind == textField {
				f.inputY = len(lines)
			}
			lines = append(lines, f.line(i, width, th))
		}
		return lines
	}
	foot := []string{}
	say := func(style theme.Style, text string) {
		var r rows.Row
		r.Add(style, " "+text)
		foot = append(foot, r.Render(th, width))
	}
	switch text, short := f.forecast(); {
	case f.problem != "" && f.tried:
		say(th.Bad, f.problem)
	case f.problem != "":
		say(th.Warn, f.problem)
	default:
		say(th.Text, text)
		if short != "" {
			say(th.Warn, short)
		}
	}
	keys := rows.Keys(th, " Enter", "start", "up down", "field", "left right", "change", "Space", "tick", "Esc", "cancel")
	return rows.Stack(width, height, nil, len(f.fields), body, append(foot, keys.Render(th, width)))
}

// forecast is how long the study takes, and a warning when its runs are too short.
func (f *Form) forecast() (text, short string) {
	study, err := f.study()
	if err != nil || f.Forecast == nil {
		return "", ""
	}
	if c, ok := f.Forecast(study); ok {
		return c.Sentence(), study.ShortRuns(c.Work)
	}
	return fmt.Sprintf("%d runs; a trial run first estimates the time", study.Total()), ""
}

func (f *Form) labelWidth() int {
	w := 0
	for _, fd := range f.fields {
		if fd.kind != tickField {
			w = max(w, widget.Width(fd.label))
		}
	}
	return w + 2
}

func (f *Form) line(i, width int, th *theme.Theme) string {
	fd, at := &f.fields[i], i == f.list.Cursor
	label := f.labelWidth()
	var r rows.Row
	switch fd.kind {
	case tickField:
		box, style := th.Unchecked, th.Dim
		if fd.ticked {
			box, style = th.Checked, th.Text
		}
		first := ""
		if i > 0 && f.fields[i-1].kind != tickField {
			first = "place"
		}
		r.Left(th, th.Dim, first, label)
		r.Add(style, box+" ")
		r.Left(th, style, fd.label, 21)
	case chooseField:
		r.Left(th, th.Dim, fd.label, label)
		r.Left(th, th.Strong, "< "+fd.value()+" >", valueWidth)
	case textField:
		r.Left(th, th.Dim, fd.label, label)
		room := valueWidth
		if fd.label == labelOther {
			room = 25
		}
		if at {
			return f.typed(fd, label, room, width, th)
		}
		r.Left(th, th.Strong, fd.input.Value(), room)
	}
	r.Add(th.Dim, " "+fd.help)
	return r.Item(th, width, at)
}

// typed draws the text field under the cursor. It is not reversed as a whole, so
// that the terminal's cursor can be seen in it.
func (f *Form) typed(fd *field, label, room, width int, th *theme.Theme) string {
	room = max(min(room, width-label-1), 2)
	text := fd.input.Render(room, th)
	f.inputX = 1 + label + fd.input.CursorX()
	var r rows.Row
	r.Add(th.Accent, th.Cursor)
	r.Left(th, th.Accent, fd.label, label)
	r.Drawn([]byte(text + strings.Repeat(" ", max(room-widget.Width(text), 0))))
	r.Add(th.Dim, " "+fd.help)
	return r.Render(th, width)
}

// Cursor is in the text field under the cursor.
func (f *Form) Cursor() *tea.Cursor {
	if f.inputX < 0 || f.inputY < 0 {
		return nil
	}
	return tea.NewCursor(f.inputX, f.inputY)
}
