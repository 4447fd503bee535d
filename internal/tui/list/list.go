// Package list is the one list of the screen: processes, interrupts, journal
// entries, tasks behind a cell, threads and results are shown with it. It keeps
// the cursor and the tags on their objects, not on their positions; it sorts,
// fits columns into a width, scrolls, answers the mouse, and draws a row once
// for as long as its figures stand.
//
// It knows nothing of what its rows mean and reads nothing; field.Column describes its
// columns. Start at List; Load gives it rows, Render or Frame draws it.
package list

import (
	"fmt"
	"slices"

	"piton/internal/field"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// List is rows of type R, each about an object that K names for good. The hooks
// may be set until the first Load.
type List[K comparable, R any] struct {
	key func(r R) K
	// Whole is the style of a row that is drawn in one style; false: its cells
	// have their own.
	Whole func(r R, th *theme.Theme) (theme.Style, bool)
	// Line is a row that is text across all columns; false: it has cells.
	Line func(r R, th *theme.Theme) (rows.Row, bool)
	// TagOf is the object that a tag on the row is of; false: the row cannot be
	// tagged. Without it a tag is of the row's own object.
	TagOf func(r R) (K, bool)
	// Draws are how columns are drawn, by their IDs, that are more than a text in a tone.
	Draws map[string]Draw[R]
	// Order sorts the rows another way than by the values of the columns; nil: those decide.
	Order func(id string, desc bool)
	// Bare lists are only looked at: no row is under a cursor, the first ones are shown.
	Bare bool

	columns []field.Column[R]
	sort    string // a column's ID, "" for the order of Load
	desc    bool
	given   []R // as loaded; in their order where no column decides another
	rows    []R

	cursor int // index in rows
	at     K   // the object under it
	// near are the objects around the cursor, below it first, in the order in which
	// the cursor goes to them when its own has ended.
	near    []K
	settled bool // the cursor belongs to its object; before, to the first row
	restart bool // the next Load begins at the top
	follow  bool
	tags    map[K]bool

	top    int // first row shown
	rest   int // as the user left it
	height int // rows shown
	scroll int // steps to the right
	quiet  bool
	line   int // of the heading in the last Frame

	generation uint64 // of rows and columns; what was drawn of older ones is stale
	drawn      drawn[R]
}

// New returns an empty list. Rows are sorted by the column with the ID sort, if it
// can compare them, in the direction that is usual for it.
func New[K comparable, R any](key func(R) K, sort string, columns ...field.Column[R]) *List[K, R] {
	l := &List[K, R]{key: key, columns: columns, tags: map[K]bool{}, height: 1, sort: sort}
	if c := l.column(sort); c != nil {
		l.desc = c.Desc
	}
	return l
}

// Load takes new rows. The cursor stays on its object; when that has ended, it
// goes to the nearest row below that is still there, else above. Unsettled rows
// have no figures to be sorted by yet: until the first settled ones a cursor that
// no key has moved stays on the first row.
func (l *List[K, R]) Load(rs []R, settled bool) {
	l.generation++
	l.given = rs
	l.arrangeRows()
	i := 0
	switch {
	case l.restart && !l.follow || l.Bare:
		l.rest = 0
	case l.settled:
		i = l.locate()
	}
	l.top = l.rest // a page that had to follow the cursor comes back
	l.restart = false
	l.moveTo(i)
	l.settled = l.settled || settled && len(rs) > 0
}

// reach is how many rows below the cursor, and above it, can take its place.
const reach = 32

// locate finds the cursor's object, or the one that takes its place.
func (l *List[K, R]) locate() int {
	if i := l.Index(l.at); i >= 0 || len(l.rows) == 0 {
		return i
	}
	for _, k := range l.near {
		if i := l.Index(k); i >= 0 {
			return i
		}
	}
	return l.cursor
}

// Index is the position of an object's row, -1 when it has none.
func (l *List[K, R]) Index(k K) int {
	if l.cursor < len(l.rows) && l.key(l.rows[l.cursor]) == k {
		return l.cursor // the order is often the same
	}
	return slices.IndexFunc(l.rows, func(r R) bool { return l.key(r) == k })
}

// moveTo puts the cursor on a row, as near as there is one, and shows it.
func (l *List[K, R]) moveTo(i int) {
	l.cursor = max(0, min(i, len(l.rows)-1))
	if len(l.rows) > 0 {
		l.at = l.key(l.rows[l.cursor])
		l.near = l.near[:0]
		for i := l.cursor + 1; i < min(l.cursor+1+reach, len(l.rows)); i++ {
			l.near = append(l.near, l.key(l.rows[i]))
		}
		for i := l.cursor - 1; i >= max(l.cursor-reach, 0); i-- {
			l.near = append(l.near, l.key(l.rows[i]))
		}
	}
	l.reveal()
}

func (l *List[K, R]) reveal() {
	l.top = max(min(l.top, l.cursor), l.cursor-l.height+1)
	l.clampTop()
}

func (l *List[K, R]) clampTop() { l.top = max(0, min(l.top, len(l.rows)-l.height)) }

// Restart makes the next Load begin at the top, with the cursor on the first row,
// unless the row is followed: the filter has changed, or the order.
func (l *List[K, R]) Restart() { l.restart = true }

// SetFollow keeps the cursor on its object also when the order or the filter changes.
func (l *List[K, R]) SetFollow(on bool) {
	l.follow = on
	l.settled = l.settled || on
}

// Following reports whether SetFollow is on.
func (l *List[K, R]) Following() bool { return l.follow }

// SetQuiet says that the keys are elsewhere: the row under the cursor is marked,
// but does not stand out.
func (l *List[K, R]) SetQuiet(on bool) { l.quiet = on }

// Len is the number of rows.
func (l *List[K, R]) Len() int { return len(l.rows) }

// Rows are all rows, in order; they must not be changed.
func (l *List[K, R]) Rows() []R { return l.rows }

// Window are the rows that the last Render showed.
func (l *List[K, R]) Window() []R { return l.rows[l.top:min(l.top+l.height, len(l.rows))] }

// At names the object under the cursor, or that was under it last.
func (l *List[K, R]) At() K { return l.at }

// Selected is the row under the cursor.
func (l *List[K, R]) Selected() (r R, ok bool) {
	if len(l.rows) == 0 {
		return r, false
	}
	return l.rows[l.cursor], true
}

// Position says where the cursor is: "5/131", "" in an empty list.
func (l *List[K, R]) Position() string {
	if len(l.rows) == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", l.cursor+1, len(l.rows))
}
