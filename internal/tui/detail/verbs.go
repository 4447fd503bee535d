package detail

import (
	tea "charm.land/bubbletea/v2"
)

// drawn is where the thread list was drawn last, for the mouse: lines and cells
// are counted from the pane's own corner.
type drawn struct {
	heading    int // line of the heading
	from, rows int // the first thread drawn, and how many
	ends       []int
}

// Focus gives the keys to the thread list; false where it has one thread or none.
func (p *Pane) Focus() bool {
	if len(p.reading.Threads) < 2 {
		return false
	}
	p.focused = true
	if p.thread(p.cursor) == nil {
		p.cursor = p.trace.tid
	}
	if p.thread(p.cursor) == nil {
		p.cursor = p.reading.Threads[0].TID
	}
	p.arrange()
	p.trace.tid = p.cursor
	return true
}

// Leave gives the keys back to the process table.
func (p *Pane) Leave() { p.focused = false }

// Focused reports whether the thread list has the keys.
func (p *Pane) Focused() bool { return p.focused }

// Key moves the cursor while the list has the keys, and reports whether the key
// moves it.
func (p *Pane) Key(k tea.KeyPressMsg) bool {
	page := max(p.drawn.rows-1, 1)
	switch k.String() {
	case "up":
		p.Move(-1)
	case "down", "j":
		p.Move(1)
	case "pgup":
		p.Move(-page)
	case "pgdown":
		p.Move(page)
	case "home", "g":
		p.Move(-len(p.reading.Threads))
	case "end", "G":
		p.Move(len(p.reading.Threads))
	default:
		return false
	}
	return true
}

// Move moves the cursor by rows; the chart follows.
func (p *Pane) Move(by int) {
	n := len(p.reading.Threads)
	p.scroll.Cursor += by
	p.scroll.Clamp(n)
	if n > 0 {
		p.cursor = p.reading.Threads[p.scroll.Cursor].TID
		p.trace.tid = p.cursor
	}
}

// SortNext sorts by the next column, or by the one before.
func (p *Pane) SortNext(by int) {
	n := len(columns)
	i := p.sorted()
	for {
		if i = (i + by + n) % n; columns[i].order != nil {
			break
		}
	}
	p.sortBy(i)
}

// Invert turns the order around.
func (p *Pane) Invert() {
	p.inverted = !p.inverted
	p.arrange()
}

func (p *Pane) sortBy(column int) {
	p.sort, p.inverted = column+1, false
	p.arrange()
}

// Click sorts by the column whose heading is at a cell of the pane, or puts the
// cursor on the thread there and takes the keys; false elsewhere.
func (p *Pane) Click(x, y int) bool {
	d := &p.drawn
	if y < d.heading || len(d.ends) == 0 || x > d.ends[len(d.ends)-1] {
		return false
	}
	if y > d.heading {
		if y > d.heading+d.rows || !p.Focus() {
			return false
		}
		p.Move(d.from + y - d.heading - 1 - p.scroll.Cursor)
		return true
	}
	for i, end := range d.ends {
		if x < end && columns[i].order != nil {
			if i == p.sorted() {
				p.Invert()
			} else {
				p.sortBy(i)
			}
			return true
		}
		if x < end {
			return false
		}
	}
	return false
}
