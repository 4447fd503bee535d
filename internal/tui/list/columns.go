package list

import (
	"slices"

	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Draw adds a cell in exactly width cells, in styles of its own.
type Draw[R any] func(dst []byte, r R, th *theme.Theme, width int) []byte

type slot[R any] struct {
	*field.Column[R]
	width int
	draw  Draw[R] // nil: by text and tone
}

// scrollText is how far one step to the right moves the text of the column that takes
// what is left, once every other column has gone; maxSkips is how many of them there are.
const (
	scrollText = 16
	maxSkips   = 20
)

// leastElastic is what the column that takes what is left keeps without a Tight.
const leastElastic = 12

// SetColumns replaces the columns; what the list is sorted by stays.
func (l *List[K, R]) SetColumns(columns []field.Column[R]) {
	l.columns = columns
	l.Scroll(0)
}

func (l *List[K, R]) column(id string) *field.Column[R] {
	if i := slices.IndexFunc(l.columns, func(c field.Column[R]) bool { return c.ID == id }); i >= 0 {
		return &l.columns[i]
	}
	return nil
}

// Sorted is the column that the list is sorted by, and the direction.
func (l *List[K, R]) Sorted() (id string, desc bool) { return l.sort, l.desc }

// SetOrder says by what the rows of the next Load are sorted; another order is shown
// from its top.
func (l *List[K, R]) SetOrder(id string, desc bool) {
	l.restart = l.restart || l.sort != id || l.desc != desc
	l.sort, l.desc = id, desc
	l.generation++
}

// SetSort changes the order of the rows that are there.
func (l *List[K, R]) SetSort(id string, desc bool) {
	if l.Order != nil {
		l.Order(id, desc)
		return
	}
	l.SetOrder(id, desc)
	l.Load(l.given, l.settled)
}

// SortBy sorts by a column in its usual direction; when the list is, inverts that.
func (l *List[K, R]) SortBy(id string) {
	c := l.column(id)
	switch {
	case c == nil || !l.sorts(*c):
	case id == l.sort:
		l.Invert()
	default:
		l.SetSort(id, c.Desc)
	}
}

func (l *List[K, R]) sorts(c field.Column[R]) bool { return c.Value != nil || l.Order != nil }

// StepSort sorts by the next column that can be sorted by, or the one before.
func (l *List[K, R]) StepSort(forward bool) {
	able := slices.DeleteFunc(slices.Clone(l.columns), func(c field.Column[R]) bool { return !l.sorts(c) })
	at := max(slices.IndexFunc(able, func(c field.Column[R]) bool { return c.ID == l.sort }), 0)
	by := 1
	if !forward {
		by = len(able) - 1
	}
	if len(able) > 1 {
		l.SortBy(able[(at+by)%len(able)].ID)
	}
}

// Invert turns the order round.
func (l *List[K, R]) Invert() { l.SetSort(l.sort, !l.desc) }

// arrangeRows sorts the rows by the column, if that has values.
func (l *List[K, R]) arrangeRows() {
	l.rows = l.given
	if c := l.column(l.sort); c != nil && c.Value != nil {
		l.rows = field.Arranged(l.given, c, l.desc)
	}
}

// fit decides which columns are drawn and how wide: as wide as they like, or else as
// tight as they can be read, or else only those that matter most. These share what is
// left then with the column that takes what is left, once that has twice its least.
func (l *List[K, R]) fit(width int) (slots []slot[R], skip int) {
	columns := make([]*field.Column[R], len(l.columns))
	for i := range columns {
		columns[i] = &l.columns[i]
	}
	if hide := min(l.scroll, max(0, len(columns)-2)); hide > 0 {
		columns = slices.Delete(columns, 1, 1+hide)
		skip = (l.scroll - hide) * scrollText
	}
	room, like, least := width-gutter, 0, 0
	for _, c := range columns {
		if c.Width > 0 {
			like += l.widthOf(c, false) + 1
			continue
		}
		if least = c.Tight; least == 0 {
			least = leastElastic
		}
		least = max(min(least, room/2), min(c.Least, room))
	}
	widths, used := l.choose(columns, room-least, least, like+least > room)
	for _, c := range columns {
		switch w := widths[c]; {
		case c.Width == 0:
			slots = append(slots, slot[R]{c, max(0, room-used), l.Draws[c.ID]})
			used = room
		case w > 0:
			slots = append(slots, slot[R]{c, w, l.Draws[c.ID]})
		}
	}
	return slots, skip
}

// choose picks the columns that fit into room cells, and their widths; where it is
// tight, those of the lowest rank first.
func (l *List[K, R]) choose(columns []*field.Column[R], room, least int, tight bool) (widths map[*field.Column[R]]int, used int) {
	widths = map[*field.Column[R]]int{}
	order := slices.Clone(columns)
	if tight {
		slices.SortStableFunc(order, func(a, b *field.Column[R]) int { return l.rank(a) - l.rank(b) })
	}
	for _, c := range order {
		if w := l.widthOf(c, tight); c.Width > 0 && used+w+1 <= room {
			widths[c] = w
			used += w + 1
		}
	}
	spare := max(0, room-used-least) / 2
	for _, c := range order {
		if w := widths[c]; w > 0 && tight {
			more := min(l.widthOf(c, false)-w, spare)
			widths[c] += more
			spare -= more
			used += more
		}
	}
	return widths, used
}

func (l *List[K, R]) rank(c *field.Column[R]) int {
	if c.ID == l.sort && c.Rank > 1 {
		return 1
	}
	return c.Rank
}

// widthOf is a column's width: never less than its title takes with the mark of the
// order, so that no title is cut or touches the next one.
func (l *List[K, R]) widthOf(c *field.Column[R], tight bool) int {
	title := widget.Width(c.Title)
	if tight && c.Short != "" {
		title = widget.Width(c.Short)
	}
	if c.ID == l.sort {
		title++
	}
	if tight && c.Tight > 0 {
		return max(c.Tight, title)
	}
	return max(c.Width, title)
}

// Shown are the IDs of the columns that the last Render had room for; of all before it.
func (l *List[K, R]) Shown() []string {
	if l.drawn.slots == nil {
		return group.Each(l.columns, func(c field.Column[R]) string { return c.ID })
	}
	return group.Each(l.drawn.slots, func(s slot[R]) string { return s.ID })
}

// Shows reports whether the last Render had room for a column.
func (l *List[K, R]) Shows(id string) bool {
	return slices.ContainsFunc(l.drawn.slots, func(s slot[R]) bool { return s.ID == id })
}

// ColumnAt is the column whose title is at x cells from the left; nil when there is none.
func (l *List[K, R]) ColumnAt(x int) *field.Column[R] {
	at := gutter
	for _, s := range l.drawn.slots {
		if at += s.width + 1; x < at {
			return s.Column
		}
	}
	return nil
}
