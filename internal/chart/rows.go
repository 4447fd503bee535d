package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bars are horizontal bars on one scale that begins at 0.
type Bars struct {
	Unit   string
	Bars   []Bar
	Legend []string // what the colours mean, by Bar.Colour; may be empty
}

// Bar is one of them.
type Bar struct {
	Label   string
	Value   float64
	UpTo    float64 // the bar goes on to here in a lighter colour, where that is more
	Low     float64 // of the interval, when HaveInterval
	High    float64 //
	Colour  int
	Caption string // shown at the end of the bar; "" = the value with the unit

	HaveInterval bool
}

// Empty reports whether there is no bar.
func (b Bars) Empty() bool { return len(b.Bars) == 0 }

func (b Bars) caption(bar Bar) string {
	return cmp.Or(bar.Caption, ScaleFor(b.most(), b.Unit).Format(bar.Value))
}

func (bar Bar) label() string { return bar.Label }

func (b Bars) most() (v float64) {
	for _, bar := range b.Bars {
		v = max(v, bar.Value, bar.UpTo)
	}
	return v
}

func (b Bars) draw(c *canvas) {
	left, right := margin(b.Bars, Bar.label), margin(b.Bars, b.caption)
	var values []float64
	for _, bar := range b.Bars {
		if values = append(values, bar.Value, bar.UpTo); bar.HaveInterval {
			values = append(values, bar.High)
		}
	}
	ax := newAxis(values, false).fromZero(true).onto(left, Width-right)
	top := c.height
	for _, bar := range b.Bars {
		b.one(c, ax, bar, left, Width-right)
		c.height += barHeight
	}
	c.line(left, top, left, c.height, "px")
	c.legend(b.Legend, left)
}

func (b Bars) one(c *canvas, ax axis, bar Bar, left, right float64) {
	top, middle, caption := c.height+4, c.height+barHeight/2, bar.Label+": "+b.caption(bar)
	c.label(left, middle, bar.Label)
	c.rect(ax.at(0), top, ax.at(bar.Value)-ax.at(0), barHeight-8, colour(bar.Colour)+" ps", caption)
	if bar.UpTo > bar.Value {
		c.rect(ax.at(bar.Value), top, ax.at(bar.UpTo)-ax.at(bar.Value), barHeight-8, colour(bar.Colour)+" pf", caption)
	}
	if bar.HaveInterval {
		c.line(ax.at(bar.Low), middle, ax.at(bar.High), middle, "pw")
		for _, end := range []float64{ax.at(bar.Low), ax.at(bar.High)} {
			c.line(end, middle-4, end, middle+4, "pw")
		}
	}
	c.text(right+8, middle+Size*0.35, "pt m", "start", b.caption(bar))
}

// labelRoom is how wide the labels of rows are at most.
const labelRoom = Width * 0.4

func widest[R any](rows []R, label func(R) string) (runes int) {
	for _, r := range rows {
		runes = max(runes, utf8.RuneCountInString(label(r)))
	}
	return runes
}

func margin[R any](rows []R, label func(R) string) float64 {
	return min(float64(widest(rows, label))*Size*runeWidth, labelRoom) + 10
}

// label writes that of a row whose middle is at y, left of its margin.
func (c *canvas) label(left, y float64, text string) {
	c.text(left-8, y+Size*0.35, "pt", "end", shorten(text, labelRoom))
}

// ticks are marked below the line at y, with a word for what they are of; c goes on below.
func (c *canvas) ticks(ax axis, y float64, of string) {
	c.line(ax.from, y, ax.to, y, "px")
	for _, v := range ax.ticks(8) {
		c.line(ax.at(v), y, ax.at(v), y+4, "px")
		c.text(ax.at(v), y+Size*1.4, "pt m", "middle", ax.format(v))
	}
	c.height = y + Size*2.6
	c.text(ax.to, c.height, "pt m", "end", of)
}

func shorten(text string, room float64) string {
	if textWidth(text) <= room {
		return text
	}
	r := []rune(text)
	return string(r[:max(int(room/(Size*runeWidth))-1, 0)]) + "…"
}

// legend names the colours on a line of its own.
func (c *canvas) legend(names []string, x float64) {
	if len(names) == 0 {
		return
	}
	y := c.height + Size*1.4
	for i, name := range names {
		if name == "" {
			continue
		}
		if x+16+textWidth(name) > Width {
			x, y = 0, y+Size*1.4
		}
		c.rect(x, y-Size*0.75, 10, 10, colour(i)+" ps", "")
		c.text(x+14, y, "pt m", "start", name)
		x += 30 + textWidth(name)
	}
	c.height = y + Size*0.4
}

// Text draws the bars in lines at most width cells wide.
func (b Bars) Text(width int) []string {
	labels, most := widest(b.Bars, Bar.label), b.most()
	room := max(width-labels-widest(b.Bars, b.caption)-3, 4)
	var out []string
	for _, bar := range b.Bars {
		cells := func(v float64) int {
			if most <= 0 || math.IsNaN(v) {
				return 0
			}
			return max(int(math.Round(v/most*float64(room))), 0)
		}
		solid := cells(bar.Value)
		drawn := strings.Repeat("█", solid) + strings.Repeat("░", max(cells(bar.UpTo)-solid, 0))
		out = append(out, Cut(fmt.Sprintf("%-*s %-*s %s", labels, bar.Label, room, drawn, b.caption(bar)), width))
	}
	return out
}

// eighths are the ends of bars, in eighths of a cell.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// Eighths is a bar of up to width cells, filled to a share from 0 to 1, as long as that is; what is
// not 0 can be seen.
func Eighths(share float64, width int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(8*width)))
	if n == 0 && share > 0 {
		n = 1
	}
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// Columns draws counts beside each other, a cell each; what is not 0 can be seen.
func Columns(counts []uint64) string {
	most := slices.Max(append([]uint64{1}, counts...))
	out := ""
	for _, n := range counts {
		if n == 0 {
			out += " "
			continue
		}
		out += string(runBars[int(float64(n)/float64(most)*float64(len(runBars)-1)+0.5)])
	}
	return out
}

// Heat is a table of values whose cells are shaded by them.
type Heat struct {
	Rows, Columns []string
	Values        [][]float64 // by row; NaN is an empty cell
	Notes         [][]string  // small, below the value; may be nil
}

// Empty reports whether there is no cell.
func (h Heat) Empty() bool { return len(h.Values) == 0 || len(h.Columns) == 0 }

func (h Heat) draw(c *canvas) {
	left := margin(h.Rows, strings.Clone)
	wide := min((Width-left)/float64(len(h.Columns)), 160)
	for i, name := range h.Columns {
		c.text(left+(float64(i)+0.5)*wide, c.height+Size, "pt m", "middle", shorten(name, wide))
	}
	c.height += Size * 1.6
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range h.Values {
		for _, v := range row {
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	for i, row := range h.Values {
		y := c.height + float64(i)*cellHeight
		c.label(left, y+cellHeight/2, h.Rows[i])
		for k, v := range row {
			if !math.IsNaN(v) {
				h.cell(c, left+float64(k)*wide, y, wide, shade(v, low, high), i, k)
			}
		}
	}
	c.height += float64(len(h.Values)) * cellHeight
}

// shade is how dark a cell is, 0.05 to 0.55: the text on it stays readable.
func shade(v, low, high float64) float64 {
	if high <= low {
		return 0.3
	}
	return 0.05 + 0.5*(v-low)/(high-low)
}

func (h Heat) cell(c *canvas, x, y, wide, dark float64, row, column int) {
	fmt.Fprintf(&c.out, `<rect x="%s" y="%s" width="%s" height="%s" class="p0 ps" fill-opacity="%s"/>`, num(x+1), num(y+1), num(wide-2), num(cellHeight-2), num(dark))
	middle := y + cellHeight/2 + Size*0.35
	if h.Notes != nil && h.Notes[row][column] != "" {
		middle -= Size * 0.5
		c.text(x+wide/2, middle+Size*1.1, "pt", "middle", h.Notes[row][column])
	}
	c.text(x+wide/2, middle, "pt", "middle", Short(h.Values[row][column]))
}

// Spans are rows along one axis of time, each with the intervals in which something was the case.
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

func (s Spans) draw(c *canvas) {
	left := margin(s.Rows, func(r SpanRow) string { return r.Label })
	ax := axis{low: 0, high: s.End, format: Short}.onto(left, Width-16)
	for _, r := range s.Rows {
		y := c.height
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
		c.height += spanHeight
	}
	c.ticks(ax, c.height, s.Unit)
	c.legend(s.Legend, left)
}
