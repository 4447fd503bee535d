package proctable

import (
	"slices"
	"strconv"
	"strings"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// Move moves the cursor by rows. A cursor that has left the screen with its task
// comes back to the edge of the page that it would enter from.
func (t *Table) Move(by int) {
	switch {
	case t.SelectedVisible() || len(t.rows) == 0:
		t.moveTo(t.cursor + by)
	case by > 0:
		t.moveTo(t.top)
	default:
		t.moveTo(t.top + t.height - 1)
	}
	t.touched()
}

// Page moves the cursor by pages.
func (t *Table) Page(by int) {
	if step := max(1, t.height-1); t.SelectedVisible() {
		t.top += by * step
		t.clampTop()
		t.moveTo(t.cursor + by*step)
		t.touched()
		return
	}
	t.Move(by)
}

// Home puts the cursor on the first row, End on the last.
func (t *Table) Home() { t.goTo(0) }

// End puts the cursor on the last row.
func (t *Table) End() { t.goTo(len(t.rows) - 1) }

// Wheel scrolls the list without moving the cursor.
func (t *Table) Wheel(by int) {
	t.top += by
	t.clampTop()
	t.generation++
}

// Click puts the cursor on the row that is drawn y lines below the heading;
// false when there is none.
func (t *Table) Click(y int) bool {
	if y < 0 || y >= t.height || t.top+y >= len(t.rows) {
		return false
	}
	t.goTo(t.top + y)
	return true
}

// goTo puts the cursor on a row, as the user wants it.
func (t *Table) goTo(i int) { t.moveTo(i); t.touched() }

// touched is called after the user moved the cursor: from now on it stays on
// its task.
func (t *Table) touched() {
	t.anchored = true
	t.reveal()
}

// reveal scrolls so that the cursor's row is shown.
func (t *Table) reveal() {
	if t.cursor < t.top {
		t.top = t.cursor
	}
	if t.cursor >= t.top+t.height {
		t.top = t.cursor - t.height + 1
	}
	t.clampTop()
}

func (t *Table) clampTop() { t.top = max(0, min(t.top, len(t.rows)-t.height)) }

// SetFollow keeps the cursor's row on the screen wherever the order takes it.
func (t *Table) SetFollow(on bool) {
	t.follow = on
	if on {
		t.touched()
	}
}

// Following reports whether SetFollow is on.
func (t *Table) Following() bool { return t.follow }

// Select puts the cursor on a task; false when it has no row.
func (t *Table) Select(tid kernel.TID) bool {
	return t.goToFirst(func(t *sample.Task) bool { return t.TID == tid })
}

// goToFirst puts the cursor on the first task that is wanted; false when none is.
func (t *Table) goToFirst(wanted func(*sample.Task) bool) bool {
	i := slices.IndexFunc(t.rows, func(r int32) bool { return wanted(t.m.Sample.Tasks[r]) })
	if i >= 0 {
		t.goTo(i)
	}
	return i >= 0
}

// SelectPrefix puts the cursor on the process whose number these digits are, or
// else on the first row whose number starts with them.
func (t *Table) SelectPrefix(digits string) bool {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return false
	}
	return t.Select(kernel.TID(n)) ||
		t.goToFirst(func(t *sample.Task) bool { return strings.HasPrefix(strconv.Itoa(int(t.TID)), digits) })
}

// Search puts the cursor on the next row that holds the text in its command or
// number: from the cursor's row on, or below it when next is set; it wraps
// around. False when no row does.
func (t *Table) Search(text string, next bool) bool {
	if text == "" || len(t.rows) == 0 {
		return false
	}
	start := t.cursor
	if next {
		start++
	}
	command, _ := field.Lookup("command")
	text = strings.ToLower(text)
	var buf []byte
	for n := range t.rows {
		i := (start + n) % len(t.rows)
		r := t.Row(i)
		buf = command.Append(strconv.AppendInt(buf[:0], int64(r.Task().TID), 10), r)
		if strings.Contains(strings.ToLower(string(buf)), text) {
			t.goTo(i)
			return true
		}
	}
	return false
}

// Scroll moves the columns sideways.
func (t *Table) Scroll(by int) {
	t.scroll = max(0, min(t.scroll+by, t.maxScroll()))
	t.generation++
}
