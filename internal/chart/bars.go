package chart

import (
	"fmt"
	"math"
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

const barHeight = 22.0

func (b Bars) values() []float64 {
	var out []float64
	for _, bar := range b.Bars {
		out = append(out, bar.Value, bar.UpTo)
		if bar.HaveInterval {
			out = append(out, bar.High)
		}
	}
	return out
}

func (b Bars) caption(bar Bar) string {
	if bar.Caption != "" {
		return bar.Caption
	}
	return ScaleFor(b.most(), b.Unit).Format(bar.Value)
}

func (b Bars) most() (v float64) {
	for _, bar := range b.Bars {
		v = max(v, bar.Value, bar.UpTo)
	}
	return v
}

func (b Bars) draw(c *canvas) {
	left, right := margin(b.Bars, func(bar Bar) string { return bar.Label }), margin(b.Bars, b.caption)
	ax := newAxis(b.values(), false).fromZero(true).onto(left, Width-right)
	top := c.height
	for i, bar := range b.Bars {
		b.one(c, ax, bar, top+float64(i)*barHeight, left, Width-right)
	}
	c.height += float64(len(b.Bars)) * barHeight
	c.line(left, top, left, c.height, "px")
	c.legend(b.Legend, left)
}

func (b Bars) one(c *canvas, ax axis, bar Bar, y, left, right float64) {
	middle, caption := y+barHeight/2, bar.Label+": "+b.caption(bar)
	c.label(left, middle, bar.Label)
	c.rect(ax.at(0), y+4, ax.at(bar.Value)-ax.at(0), barHeight-8, colour(bar.Colour)+" ps", caption)
	if bar.UpTo > bar.Value {
		c.rect(ax.at(bar.Value), y+4, ax.at(bar.UpTo)-ax.at(bar.Value), barHeight-8, colour(bar.Colour)+" pf", caption)
	}
	if bar.HaveInterval {
		c.line(ax.at(bar.Low), middle, ax.at(bar.High), middle, "pw")
		c.line(ax.at(bar.Low), middle-4, ax.at(bar.Low), middle+4, "pw")
		c.line(ax.at(bar.High), middle-4, ax.at(bar.High), middle+4, "pw")
	}
	c.text(right+8, middle+Size*0.35, "pt m", "start", b.caption(bar))
}

// labelRoom is how wide the labels of rows are at most.
const labelRoom = Width * 0.4

// margin is the room that the labels of rows take.
func margin[R any](rows []R, label func(R) string) float64 {
	widest := 0.0
	for _, r := range rows {
		widest = max(widest, textWidth(label(r)))
	}
	return min(widest, labelRoom) + 10
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

// shorten cuts text that is wider than room.
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
	labels, ends, most := 0, 0, b.most()
	for _, bar := range b.Bars {
		labels, ends = max(labels, utf8.RuneCountInString(bar.Label)), max(ends, utf8.RuneCountInString(b.caption(bar)))
	}
	room := max(width-labels-ends-3, 4)
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
