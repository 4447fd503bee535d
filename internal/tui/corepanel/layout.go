package corepanel

import (
	"fmt"

	"piton/internal/model"
)

// Widths of the full form.
const (
	separator   = 3  // between columns
	wantedWidth = 56 // of a column, with everything a line can say
	roomyWidth  = 88 // of a column of a wide screen, where its bar and sparkline grow
	leastWidth  = 24 // of a column: bar, per cent and sparkline only
	mostColumns = 8
	fewLines    = 4 // that any screen has room for
)

// layout is how the full form is arranged: blocks of columns that stand side by
// side, each holding some groups below each other.
type layout struct {
	columns int // in all
	within  int // columns that one group is spread over
	stacked int // groups below each other in a column
	width   int // of a column
}

// fit finds the layout for the full form; ok is false when a line for each CPU
// does not fit in height lines.
func (g *grouping) fit(width, height int) (l layout, ok bool) {
	most := min(mostColumns, g.online)
	for columns := 1; columns <= most; columns++ { // few lines in all: as wide as can be
		if l = g.arrange(width, columns); l.width >= wantedWidth && g.height(l) <= max(fewLines, height/3) {
			return l, true
		}
	}
	wanted := max(wantedWidth, min(width*11/25, roomyWidth))
	first := max(1, min((width+separator)/(wanted+separator), most))
	for columns := first; columns <= most; columns++ {
		l = g.arrange(width, columns)
		if l.width < leastWidth {
			break
		}
		if g.height(l) <= height {
			return l, true
		}
	}
	return layout{}, false
}

func (g *grouping) arrange(width, columns int) layout {
	n := len(g.groups)
	l := layout{columns: columns, within: 1, stacked: (n + columns - 1) / columns}
	if n < columns {
		l.within, l.stacked = columns/n, 1
		l.columns = l.within * n
	} else {
		l.columns = (n + l.stacked - 1) / l.stacked
	}
	l.width = (width - separator*(l.columns-1)) / l.columns
	return l
}

// height is the number of lines the layout takes, the offline line included.
func (g *grouping) height(l layout) int {
	tallest := 0
	for i := 0; i < len(g.groups); i += l.stacked {
		column := 0
		for _, group := range g.groups[i:min(i+l.stacked, len(g.groups))] {
			column += 1 + (len(group.cpus)+l.within-1)/l.within
		}
		tallest = max(tallest, column)
	}
	if !g.offline.Empty() {
		tallest++
	}
	return tallest
}

// cells are the widths of the parts of a CPU's line; 0 leaves a part out.
type cells struct {
	gutter     int // mark, SMT bracket, number, kind
	bar, spark int
	rate       int // with its blank
	note       int
	smt, kind  bool
}

// percentWidth is a blank and "100%".
const percentWidth = 5

// Widths of a rate: " 9999" and " 9999/s".
const (
	rateBare = 5
	rateUnit = 7
)

// divide shares a column's width among the parts of a line. The bar and the sparkline
// take what the others leave.
func (g *grouping) divide(width int) cells {
	c := cells{gutter: 1 + g.digits + 1, smt: g.smt, kind: g.kinds}
	if g.smt {
		c.gutter++
	}
	if g.kinds {
		c.gutter++
	}
	rest := width - c.gutter - percentWidth - 1
	switch {
	case rest >= 30:
		c.rate = rateUnit
	case rest >= 20:
		c.rate = rateBare
	}
	rest -= c.rate
	if rest >= 36 {
		c.note = max(noteWidth, min(rest/4, 2*noteWidth))
		rest -= c.note
	}
	c.bar, c.spark = share(rest)
	return c
}

// noteWidth is for " FIFO:50 rtapp".
const noteWidth = 14

// share divides cells between a bar and a sparkline, which has a tick in each of its
// cells and no more of them than are kept.
func share(room int) (bar, spark int) {
	spark = max(0, min(room-max(2, room*2/5), model.HistoryLen))
	return max(2, room-spark), spark
}

// scale is what all sparklines of a rendering share.
type scale struct {
	width, ticks, most int      // cells, the ticks that they show, and the migrations in the fullest of these
	top                int      // migrations a tick at the full height
	titles             []string // that say what a sparkline is, the longest first; those left to be drawn
}

// include makes the scale count in a history.
func include[T uint16 | uint32](s *scale, history []T, ticks int) {
	n := max(0, min(s.width, ticks))
	s.ticks = max(s.ticks, n)
	for _, moves := range history[len(history)-n:] {
		s.most = max(s.most, int(moves))
	}
}

// setScale makes the scale of what was included.
func (r *renderer) setScale(s scale) {
	top, peak := r.ticks.Scale(s.most, r.Theme.None)
	s.top, s.titles = top, []string{"migrations in, " + peak, peak}
	if tick := r.ticks.Usual(); tick > 0 && s.ticks == s.width {
		last := fmt.Sprintf("migrations in, last %.0f s, %s", float64(s.ticks)*tick.Seconds(), peak)
		s.titles = []string{last, "migrations in, " + peak, "in, " + peak, peak}
	}
	r.scale = s
}
