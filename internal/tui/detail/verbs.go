package detail

// drawn is where the thread list was drawn last, for the mouse: lines and cells
// are counted from the pane's own corner.
type drawn struct {
	heading int // line of the heading
	width   int // 0: there was no room for it
}

// Focus gives the keys to the thread list; false where it has one thread or none. The
// cursor is on the thread that it was on, else on the one whose moves are shown.
func (p *Pane) Focus() bool {
	if len(p.reading.Threads) < 2 {
		return false
	}
	if p.Bare {
		p.Bare = false
		if !p.Select(p.left) && !p.Select(p.trace.tid) {
			p.Home()
		}
	}
	p.trace.tid = p.At().TID
	return true
}

// Leave gives the keys back to the process table.
func (p *Pane) Leave() {
	if !p.Bare {
		p.left, p.Bare = p.At().TID, true
	}
}

// Focused reports whether the thread list has the keys.
func (p *Pane) Focused() bool { return !p.Bare }

// Click sorts by the column whose heading is at a cell of the pane, or puts the
// cursor on the thread there and takes the keys; false elsewhere.
func (p *Pane) Click(x, y int) bool {
	y -= p.drawn.heading
	if y < 0 || y > len(p.Window()) || x >= p.drawn.width || y > 0 && !p.Focus() {
		return false
	}
	return p.List.Click(x, y) || y == 0
}
