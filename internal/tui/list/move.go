package list

// The verbs below are the user's: after one the cursor stays on the object that it
// is on, whatever becomes of the order.

// goTo puts the cursor on a row, as the user wants it.
func (l *List[K, R]) goTo(i int) {
	l.settled = true
	l.moveTo(i)
	l.rest = l.top
}

// Move moves the cursor by rows.
func (l *List[K, R]) Move(by int) { l.goTo(l.cursor + by) }

// Page moves the cursor and the view by pages.
func (l *List[K, R]) Page(by int) {
	by *= max(1, l.height-1)
	l.top += by
	l.clampTop()
	l.goTo(l.cursor + by)
}

// Home puts the cursor on the first row.
func (l *List[K, R]) Home() { l.goTo(0) }

// End puts the cursor on the last row.
func (l *List[K, R]) End() { l.goTo(len(l.rows) - 1) }

// Wheel moves the view by rows, and at its edge the cursor with it.
func (l *List[K, R]) Wheel(by int) {
	l.top += by
	l.clampTop()
	l.rest = l.top
	if i := max(l.top, min(l.cursor, l.top+l.height-1)); i != l.cursor {
		l.goTo(i)
	}
}

// Select puts the cursor on an object; false when it has no row.
func (l *List[K, R]) Select(k K) bool { return l.SelectFunc(func(r R) bool { return l.key(r) == k }) }

// SelectFunc puts the cursor on the first row that is wanted; false when none is.
func (l *List[K, R]) SelectFunc(wanted func(R) bool) bool { return l.find(0, wanted) }

// Search is SelectFunc from the cursor's row on, or from the one below it when next
// is set; it wraps around.
func (l *List[K, R]) Search(wanted func(R) bool, next bool) bool {
	if next {
		return l.find(l.cursor+1, wanted)
	}
	return l.find(l.cursor, wanted)
}

func (l *List[K, R]) find(from int, wanted func(R) bool) bool {
	for n := range l.rows {
		if i := (from + n) % len(l.rows); wanted(l.rows[i]) {
			l.goTo(i)
			return true
		}
	}
	return false
}

// Click puts the cursor on the row on a line of the last Frame, or sorts by the
// column whose title is there, and reports whether it was a row.
func (l *List[K, R]) Click(x, y int) bool {
	y -= l.line + 1
	if y == -1 {
		if c := l.ColumnAt(x); c != nil {
			l.SortBy(c.ID)
		}
	}
	if y < 0 || y >= len(l.Window()) {
		return false
	}
	l.goTo(l.top + y)
	return true
}

// Scroll moves the columns sideways by steps.
func (l *List[K, R]) Scroll(by int) {
	l.scroll = max(0, min(l.scroll+by, max(0, len(l.columns)-2)+maxSkips))
	l.generation++
}
