package chart

// Spans are rows along one axis of time, each with the intervals in which
// something was the case.
type Spans struct {
	Rows   []SpanRow
	End    float64 // of the axis, which begins at 0
	Unit   string
	Legend []string // what the colours mean, by Span.Colour
}

// SpanRow is one row.
type SpanRow struct {
	Label string
	// Filled rows have colour 0 wherever no span is: what runs but for its gaps.
	Filled bool
	Spans  []Span
}

// Span is an interval.
type Span struct {
	From, To float64
	Colour   int
}

// Empty reports whether there is no row.
func (s Spans) Empty() bool { return len(s.Rows) == 0 || s.End <= 0 }

const spanHeight = 30.0

func (s Spans) draw(c *canvas) {
	left := margin(s.Rows, func(r SpanRow) string { return r.Label })
	ax := axis{low: 0, high: s.End, format: Short}.onto(left, Width-16)
	for i, r := range s.Rows {
		y := c.height + float64(i)*spanHeight
		c.label(left, y+spanHeight/2, r.Label)
		if r.Filled {
			c.rect(left, y+3, Width-16-left, spanHeight-6, colour(0)+" ps", "")
		}
		for _, sp := range r.Spans {
			if sp.From >= s.End {
				continue
			}
			to := min(sp.To, s.End)
			// What is too short to see is half a unit wide all the same.
			c.rect(ax.at(sp.From), y+3, max(ax.at(to)-ax.at(sp.From), 0.5), spanHeight-6, colour(sp.Colour)+" ps", Short(sp.From)+" to "+Short(sp.To)+" "+s.Unit)
		}
	}
	c.ticks(ax, c.height+float64(len(s.Rows))*spanHeight, s.Unit)
	c.legend(s.Legend, left)
}
