package corepanel

import (
	"fmt"
	"math"

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

// span is how many ticks sparklines of that width show, and the most migrations into one
// of the machine's CPUs in one of them.
func (r *renderer) span(width int) (shown, ticks, most int) {
	for i := range r.Model.CPUs {
		c := &r.Model.CPUs[i]
		n := min(width, c.Ticks)
		ticks = max(ticks, n)
		for _, moves := range c.In[model.HistoryLen-n:] {
			most = max(most, int(moves))
		}
	}
	return width, ticks, most
}

// scale is what all sparklines of a rendering share.
type scale struct {
	top   int    // migrations a tick at the full height
	words string // "peak 510/s"
	last  string // "last 30 s", the time that they show; "" until it is that long
}

// calm is the rate of migrations up to which a machine counts as quiet: sparklines do not
// stretch what is below it.
const calm = 20

// scaleOf makes the scale of sparklines of that width, which show so many ticks, the
// fullest of them with most migrations.
func (r *renderer) scaleOf(width, ticks, most int) scale {
	seconds := r.tick.Seconds()
	if seconds <= 0 {
		return scale{top: calm, words: "peak " + r.Theme.None}
	}
	s := scale{top: max(most, int(math.Round(calm*seconds)), 1)}
	s.words = fmt.Sprintf("peak %.0f/s", float64(most)/seconds)
	if most < s.top {
		s.words = fmt.Sprintf("peak <%d/s", calm)
	}
	if ticks == width {
		s.last = fmt.Sprintf("last %.0f s", float64(ticks)*seconds)
	}
	return s
}

// titles say what a sparkline is, the longest first.
func (s scale) titles() []string {
	if s.last == "" {
		return []string{"migrations in, " + s.words, s.words}
	}
	return []string{"migrations in, " + s.last + ", " + s.words, "migrations in, " + s.words, "in, " + s.words, s.words}
}
