package dialog

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// The widths between which a form takes what it needs, the cells for a value, and the
// lines for what is cut beside a field.
const (
	leastForm  = 78
	mostForm   = 96
	valueWidth = 12
	helpLines  = 2
)

// measure lines up the values and what is said of them, boxes apart from what is typed. It returns the
// cells of keys and of the widest field.
func (f *Form) measure() (keys, wide int) {
	labels, values, boxes := 0, valueWidth, 0
	for _, fd := range f.Fields {
		label := fd.Label
		if fd.boxed() {
			label, boxes = fd.Group, max(boxes, widget.Width(fd.Label)+4)
		} else if fd.Room == 0 {
			values = max(values, widget.Width(fd.word()))
		}
		if label != "" {
			labels = max(labels, widget.Width(label)+2)
		}
		if fd.Key != "" {
			keys = max(keys, widget.Width(fd.Key)+1)
		}
	}
	for i := range f.Fields {
		fd := &f.Fields[i]
		fd.before, fd.room = keys+labels, cmp.Or(fd.Room, values)
		if fd.boxed() {
			fd.room = boxes
		}
		if fd.boxed() && fd.Group == "" {
			fd.before = keys
		}
		wide = max(wide, 1+fd.before+fd.room+len("  ")+widget.Width(fd.help()))
	}
	return keys, wide
}

func (fd *Field) help() string {
	if fd.off() {
		return fd.Off
	}
	return fd.Help
}

// word is the value between what says that there are others.
func (fd *Field) word() string {
	if len(fd.Words) > 1 {
		return "< " + fd.Value + " >"
	}
	return fd.Value
}

// Render draws the fields with what is wrong with one of them below it, what is cut beside
// the one under the cursor, what comes of the answer, and the keys.
func (f *Form) Render(width, height int, th *theme.Theme) string {
	keys, wide := f.measure()
	if width = min(width, max(leastForm, min(max(wide, f.width), mostForm))); width != f.width {
		f.width, f.height = width, 0
	}
	cut := make([]string, len(f.Fields))
	for i := range cut {
		if fd := &f.Fields[i]; 1+fd.before+fd.room+len("  ")+widget.Width(fd.help()) > width {
			cut[i] = fd.help()
		}
	}
	foot := below(cut, f.list.Cursor, helpLines, width, th)
	_, bad, err := f.Read()
	tone, about, wrong := Warning, []Line(nil), []string(nil)
	if f.refused {
		tone = Refusal
	}
	switch {
	case bad >= 0 && f.Fields[bad].Value == "" && !f.refused: // not typed yet
	case bad >= 0:
		indent := strings.Repeat(" ", min(1+f.Fields[bad].before, width/2))
		for _, l := range rows.Wrap(th, err.Error(), width-len(indent)) {
			wrong = append(wrong, indent+tone.style(th).Render(l))
		}
	case err != nil:
		about = []Line{{tone, err.Error()}}
	case f.About != nil:
		about = f.About()
	}
	for _, l := range about {
		if l.Text == "" {
			continue
		}
		foot = append(foot, rows.Indented(th, l.Tone.style(th), l.Text, width)...)
	}
	foot = append(foot, f.keys(width, th)...)

	// The lines are those of the fields, with the wrong ones behind the bad field.
	n, at := len(f.Fields)+len(wrong), f.list.Cursor
	if at > bad {
		at += len(wrong)
	}
	end := at
	if at == bad {
		end += len(wrong)
	}
	f.cursor = nil
	body := f.lines.Body(th, n, func(line int, _ bool) string {
		i := line
		if line > bad {
			if i -= len(wrong); i <= bad {
				return wrong[line-bad-1]
			}
		}
		return f.row(i, line-f.lines.Top, keys, width, th)
	})
	f.height = max(f.height, n+len(foot), len(f.Fields)+1+len(foot)) // the dialog keeps its size
	return rows.Stack(width, height, nil, n, func(h int) []string {
		f.list.Window(len(f.Fields), h) // for a page
		f.lines.Cursor = end
		f.lines.Window(n, h-1)
		f.lines.Cursor = at
		lines := body(h)
		return append(lines, make([]string, max(min(h, f.height-len(foot))-len(lines), 0))...)
	}, foot)
}

// row draws a field, on line y of the form. The one where something is typed is not
// reversed as a whole, so that the terminal's cursor can be seen in it.
func (f *Form) row(i, y, keys, width int, th *theme.Theme) string {
	fd, label, style := &f.Fields[i], f.Fields[i].Label, th.Dim
	selected := i == f.list.Cursor
	typing := selected && fd.typed()
	switch {
	case fd.boxed() && y > 0 && f.Fields[i-1].Group == fd.Group:
		label = ""
	case fd.boxed():
		label = fd.Group
	case typing:
		style = th.Accent
	}
	var r rows.Row
	r.Left(th, th.Key, fd.Key, keys)
	r.Left(th, style, label, fd.before-keys)
	switch {
	case fd.off():
		r.Left(th, th.Dim, th.None, fd.room)
	case fd.boxed():
		box, style := th.Unchecked, th.Dim
		switch {
		case fd.Kind == One && fd.On:
			box, style = th.Radio, th.Text
		case fd.Kind == One:
			box, style = th.RadioOff, th.Text
		case fd.On:
			box, style = th.Checked, th.Text
		}
		r.Left(th, style, box+" "+fd.Label, fd.room)
	case typing:
		room := max(min(fd.room, width-1-fd.before), 2)
		text := f.text().Render(room, th)
		f.cursor = tea.NewCursor(1+fd.before+f.input.CursorX(), y)
		r.Drawn([]byte(text + strings.Repeat(" ", max(room-widget.Width(text), 0))))
	case fd.Value == "":
		r.Left(th, th.Dim, fd.Empty, fd.room)
	default:
		r.Left(th, th.Strong, fd.word(), fd.room)
	}
	r.Add(th.Dim, "  "+fd.help())
	if typing {
		return th.Accent.Render(th.Cursor) + r.Render(th, width-1)
	}
	return r.Item(th, width, selected)
}

func (f *Form) keys(width int, th *theme.Theme) (lines []string) {
	pairs := []string{"Enter", f.Enter}
	switch at := f.At(); {
	case at.Kind == Tick:
		pairs = append(pairs, "Space", "tick")
	case at.Kind == One:
		pairs = append(pairs, "up down", "choose")
	case len(at.Words) > 1, at.Kind == Number && !at.off():
		pairs = append(pairs, "left right", "change")
	}
	pairs = append(pairs, f.At().Keys...)
	if len(f.Fields) > 1 {
		pairs = append(pairs, "Tab", "field")
	}
	line := " "
	for key := range slices.Chunk(append(pairs, "Esc", "cancel"), 2) {
		next := rows.Keys(th, key...)
		if widget.Width(line)+next.Width() > width && line != " " {
			lines, line = append(lines, line), " "
		}
		line += next.Render(th, width) + "  "
	}
	return append(lines, line)
}
