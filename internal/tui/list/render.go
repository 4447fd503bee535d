package list

import (
	"slices"

	"github.com/charmbracelet/x/ansi"

	"piton/internal/field"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// gutter is the cells left of the first column: the cursor or the tag.
const gutter = 1

// drawn keeps the text of the rows on the screen, so that a key that moves the cursor
// formats nothing.
type drawn[R any] struct {
	generation uint64
	width      int
	th         *theme.Theme
	rows       []drawnRow // row i is at i modulo their number
	slots      []slot[R]
	skip       int // cells cut from the left of the column that takes what is left
	heading    string
	buf        []byte // of a row, reused
}

type drawnRow struct {
	index int    // of the row, plus 1; 0: nothing is drawn
	cells string // as it looks by itself
	plain string // without styles, for a row under the cursor or with a tag; "" until it is needed
}

// Reach are the rows that Render shows in height lines.
func (l *List[K, R]) Reach(height int) []R {
	l.height = max(1, height-1)
	l.reveal()
	return l.Window()
}

// Skipped is how many cells of the column that takes what is left are left of the screen.
func (l *List[K, R]) Skipped() int { return l.drawn.skip }

// Render draws the heading and the rows in width cells and height lines.
func (l *List[K, R]) Render(width, height int, th *theme.Theme) []string {
	if height < 1 || width < 1 {
		return nil
	}
	l.Reach(height)
	d := &l.drawn
	if d.generation != l.generation || d.width != width || d.th != th || len(d.rows) != l.height {
		rows := slices.Grow(d.rows[:0], l.height)[:l.height]
		clear(rows)
		*d = drawn[R]{generation: l.generation, width: width, th: th, rows: rows, buf: d.buf}
		d.slots, d.skip = l.fit(width)
		d.heading = l.heading()
	}
	lines := make([]string, 1, height)
	lines[0] = d.heading
	for i := l.top; len(lines) < height; i++ {
		if i < len(l.rows) {
			lines = append(lines, l.row(i))
		} else {
			lines = append(lines, "")
		}
	}
	return lines
}

// Frame draws the list between the lines of a head and a foot in width × height cells:
// the foot stays at the bottom, an empty list has no heading. The lines are numbered
// for Click from the first one of the head.
func (l *List[K, R]) Frame(width, height int, head, foot []string, th *theme.Theme) string {
	least := 0
	if n := len(l.rows); n > 0 {
		least = n + 1
	}
	return rows.Stack(width, height, head, least, func(h int) []string {
		l.line = min(len(head), height-h)
		if least > 0 {
			return l.Render(width, h, th)
		}
		l.line = height
		return make([]string, max(h, 0))
	}, foot)
}

// heading draws the titles; that of the column which the list is sorted by is marked.
func (l *List[K, R]) heading() string {
	d := &l.drawn
	th := d.th
	dst := th.Header.Open(make([]byte, 0, d.width*2))
	dst = widget.AppendSpaces(dst, gutter)
	used := gutter
	for _, s := range d.slots {
		title, mark := s.Title, ""
		if s.ID == l.sort {
			if mark = th.SortUp; l.desc {
				mark = th.SortDown
			}
		}
		if s.Short != "" && widget.Width(title+mark) > s.width {
			title = s.Short
		}
		if mark != "" {
			dst = th.HeaderSort.Open(th.Header.Close(dst))
		}
		dst = widget.AppendFit(dst, []byte(title+mark), s.width, s.Right, th.Ellipsis)
		if mark != "" {
			dst = th.Header.Open(th.HeaderSort.Close(dst))
		}
		dst = append(dst, ' ')
		used += s.width + 1
	}
	dst = widget.AppendSpaces(dst, d.width-used)
	return widget.Cut(string(th.Header.Close(dst)), d.width, "")
}

func (l *List[K, R]) row(i int) string {
	d := &l.drawn
	th := d.th
	c := &d.rows[i%len(d.rows)]
	if c.index != i+1 {
		*c = drawnRow{index: i + 1, cells: l.format(l.rows[i])}
	}
	cursor, tagged := i == l.cursor && !l.Bare, len(l.tags) > 0 && l.tags[l.key(l.rows[i])]
	if !cursor && !tagged {
		return c.cells
	}
	if c.plain == "" {
		c.plain = widget.Fit(ansi.Strip(c.cells), d.width, th.Ellipsis)[gutter:]
	}
	mark, style := th.Cursor, th.Selected
	switch {
	case !cursor:
		mark, style = th.Tag, th.Tagged
	case l.quiet && tagged:
		style = th.Tagged
	case l.quiet:
		style = th.Text
	case tagged:
		style = th.Both
	}
	return style.Render(mark + c.plain)
}

// format writes a row with a blank for the cursor before it.
func (l *List[K, R]) format(r R) string {
	d := &l.drawn
	if l.Line != nil {
		if line, ok := l.Line(r, d.th); ok {
			return " " + line.Render(d.th, d.width-gutter)
		}
	}
	dst, run := append(d.buf[:0], ' '), -1
	for n := range d.slots {
		if n > 0 {
			dst = append(dst, ' ')
		}
		start := len(dst)
		dst, run = theme.Join(l.cell(dst, r, &d.slots[n]), run, start)
	}
	d.buf = dst
	text := string(dst)
	if l.Whole != nil {
		if style, ok := l.Whole(r, d.th); ok {
			return style.Render(ansi.Strip(text))
		}
	}
	return text
}

// zero reports whether a figure with a unit or without is none: "0", "0.0", "0 %".
func zero(text string) bool {
	digits := false
	for _, c := range text {
		if c >= '1' && c <= '9' {
			return false
		}
		digits = digits || c == '0'
	}
	return digits
}

func (l *List[K, R]) cell(dst []byte, r R, s *slot[R]) []byte {
	th, skip := l.drawn.th, 0
	if s.Width == 0 {
		skip = l.drawn.skip
	}
	if s.draw != nil {
		if skip == 0 {
			return s.draw(dst, r, th, s.width)
		}
		return append(dst, widget.Fit(widget.SkipCells(string(s.draw(nil, r, th, s.width+skip)), skip), s.width, "")...)
	}
	text, tone := s.Shown(r, s.width+skip)
	text = rows.Text(th, text)
	if text == "" && s.Value != nil {
		text, tone = th.None, field.Dim
	}
	style := th.Of(tone)
	if s.Right && !s.Names && style == th.Text && zero(text) {
		style = th.Dim
	}
	if skip > 0 {
		text = widget.SkipCells(text, skip)
	}
	n := widget.Width(text)
	if n > s.width {
		text = widget.Cut(text, s.width, th.Ellipsis)
		n = widget.Width(text)
	}
	if s.Right {
		return style.Append(widget.AppendSpaces(dst, s.width-n), text)
	}
	return widget.AppendSpaces(style.Append(dst, text), s.width-n) // an underline would show on blanks
}
