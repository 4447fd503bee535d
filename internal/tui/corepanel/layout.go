package corepanel

// Widths of the full form.
const (
	separator   = 3  // between columns
	wantedWidth = 56 // of a column, with everything a line can say
	leastWidth  = 24 // of a column, bar, per cent and sparkline only
	mostColumns = 4
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
	first := max(1, min((width+separator)/(wantedWidth+separator), most))
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
	in, out    int
	note       int
	smt, kind  bool
}

// percentWidth is a blank and "100%".
const percentWidth = 5

// divide shares a column's width among the parts of a line.
func (g *grouping) divide(width int, haveOut bool) cells {
	c := cells{gutter: 1 + g.digits + 1, smt: g.smt, kind: g.kinds}
	if g.smt {
		c.gutter++
	}
	if g.kinds {
		c.gutter++
	}
	rest := width - c.gutter - percentWidth - 1
	if rest >= 22 {
		c.in = 5
		rest -= c.in
	}
	if haveOut && rest >= 30 {
		c.out = 6
		rest -= c.out
	}
	if rest >= 34 {
		c.note = max(13, min(rest/3, 30))
		rest -= c.note
	}
	c.bar = max(2, min(rest*2/5, 24))
	c.spark = max(0, min(rest-c.bar, sparkMost))
	c.note += max(0, rest-c.bar-c.spark)
	return c
}
