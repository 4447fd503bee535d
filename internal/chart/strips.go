package chart

import (
	"math"
	"slices"
	"strings"
)

// Strips are samples on one axis that they share, a line each: single values as
// dots, the interval of the median as a bar.
type Strips struct {
	Unit   string
	Strips []Strip
	Least  float64 // width of the axis, at least, in the unit: less would show noise as a difference
}

// Strip is one sample.
type Strip struct {
	Label             string
	Points            []float64
	Median, Low, High float64 // Low and High are of the interval, when HaveInterval
	HaveInterval      bool
	Colour            int
	Caption           string // the median in words, at the right; "" = in the unit of the axis
	Verdict           string // below the strip; may be empty
}

// Empty reports whether there is no value.
func (s Strips) Empty() bool {
	return !slices.ContainsFunc(s.Strips, func(one Strip) bool { return len(one.Points) > 0 })
}

// markRoom is the share of the axis at an end that values beyond it are marked in.
const markRoom = 0.05

// axis covers all intervals, and the values around them. Values further away than
// the intervals together are wide would squeeze everything else; they are marked
// at the end of the axis instead.
func (s Strips) axis() (axis, Scale) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, one := range s.Strips {
		if one.HaveInterval {
			low, high = min(low, one.Low), max(high, one.High)
		} else if len(one.Points) > 0 {
			low, high = min(low, slices.Min(one.Points)), max(high, slices.Max(one.Points))
		}
	}
	near, far, span := low, high, high-low
	below, above := 0.0, 0.0 // room for the marks of values that are further away
	for _, one := range s.Strips {
		for _, p := range one.Points {
			switch {
			case p < low-span:
				below = markRoom
			case p > high+span:
				above = markRoom
			default:
				near, far = min(near, p), max(far, p)
			}
		}
	}
	near, far = near-below*(far-near), far+above*(far-near)
	if missing := s.Least - (far - near); missing > 0 {
		near, far = near-missing/2, far+missing/2
	}
	scale := ScaleFor(max(math.Abs(near), math.Abs(far)), s.Unit)
	near, far = scale.Of(near), scale.Of(far)
	if far <= near {
		near, far = near-max(math.Abs(near)*0.05, 1e-9), far+max(math.Abs(far)*0.05, 1e-9)
	}
	return axis{low: near, high: far, format: Short}, scale
}

// stripGlyphs are what a strip is drawn with in text.
type stripGlyphs struct{ from, line, to, one, more, median, below, above, tick rune }

var (
	stripUnicode = stripGlyphs{'├', '─', '┤', '·', ':', '●', '‹', '›', '│'}
	stripASCII   = stripGlyphs{'[', '-', ']', '.', ':', 'O', '<', '>', '|'}
)

// Legend says how Cells are read.
func (Strips) Legend(ascii bool) string {
	if ascii {
		return "O median, [-] its 95 % interval, . one run, : several"
	}
	return "● median, ├─┤ its 95 % interval, · one run, : several"
}

// Cells draws the axis and each strip in exactly width cells; the first tick has
// the unit.
func (s Strips) Cells(width int, ascii bool) (head string, strips []string) {
	g := stripUnicode
	if ascii {
		g = stripASCII
	}
	blank := strings.Repeat(" ", max(width, 0))
	if s.Empty() || width < 1 {
		return blank, slices.Repeat([]string{blank}, len(s.Strips))
	}
	ax, scale := s.axis()
	ax = ax.onto(0, float64(width-1))
	for _, one := range s.Strips {
		strips = append(strips, one.cells(ax, scale, width, g))
	}
	return axisCells(ax, scale.Unit, width, g), strips
}

// tickCells is how many cells there are for a tick on average; one whose number
// would touch that of the one before is left out.
const tickCells = 8

func axisCells(ax axis, unit string, width int, g stripGlyphs) string {
	cells := []rune(strings.Repeat(" ", width))
	next := 0 // the first free cell
	ticks := ax.ticks(max(width/tickCells, 2))
	if len(ticks) == 0 {
		ticks = []float64{ax.low}
	}
	for i, v := range ticks {
		at, label := int(math.Round(ax.at(v))), []rune(ax.format(v))
		if i == 0 && unit != "" {
			label = append(append(label, ' '), []rune(unit)...)
		}
		from := at + 1
		if from+len(label) > width { // at the right end the number stands before its tick
			from = at - len(label)
		}
		if from < next || at < next || at >= width || from < 0 {
			continue
		}
		copy(cells[from:], label)
		cells[at] = g.tick
		next = max(from+len(label), at+1) + 1
	}
	return string(cells)
}

func (s Strip) cells(ax axis, scale Scale, width int, g stripGlyphs) string {
	cells, count := []rune(strings.Repeat(" ", width)), make([]int, width)
	if len(s.Points) == 0 {
		return string(cells)
	}
	at := func(v float64) int { return min(max(int(math.Round(ax.at(scale.Of(v)))), 0), width-1) }
	if s.HaveInterval {
		for i := at(s.Low); i <= at(s.High); i++ {
			cells[i] = g.line
		}
	}
	below, above := false, false
	for _, p := range s.Points {
		switch v := scale.Of(p); {
		case v < ax.low-1e-9*math.Abs(ax.low):
			below = true
		case v > ax.high+1e-9*math.Abs(ax.high):
			above = true
		default:
			count[at(p)]++
		}
	}
	for i, n := range count {
		if n > 1 {
			cells[i] = g.more
		} else if n == 1 {
			cells[i] = g.one
		}
	}
	if s.HaveInterval {
		cells[at(s.Low)], cells[at(s.High)] = g.from, g.to
	}
	if below {
		cells[0] = g.below
	}
	if above {
		cells[width-1] = g.above
	}
	cells[at(s.Median)] = g.median
	return string(cells)
}

// Heights of a strip in SVG, without and with a verdict.
const (
	stripHeight   = 26.0
	verdictHeight = Size * 1.5
)

func (s Strips) draw(c *canvas) {
	ax, scale := s.axis()
	left, right := 0.0, 0.0
	for _, one := range s.Strips {
		left, right = max(left, textWidth(one.Label)), max(right, textWidth(one.caption(scale)))
	}
	left, right = min(left, Width*0.3)+10, Width-right-14
	ax = ax.onto(left+8, right-8)
	top := c.height
	bottom := top
	for _, one := range s.Strips {
		bottom += one.height()
	}
	for _, v := range ax.ticks(8) {
		c.line(ax.at(v), top, ax.at(v), bottom, "pg")
		c.text(ax.at(v), bottom+Size*1.2, "pt m", "middle", ax.format(v))
	}
	c.text(Width, bottom+Size*1.2, "pt m", "end", scale.Unit)
	for _, one := range s.Strips {
		one.draw(c, ax, scale, left, right)
	}
	c.height = bottom + Size*1.8
}

func (s Strip) caption(scale Scale) string {
	if s.Caption != "" {
		return s.Caption
	}
	return scale.Format(s.Median)
}

func (s Strip) height() float64 {
	if s.Verdict == "" {
		return stripHeight
	}
	return stripHeight + verdictHeight
}

// draw draws the strip below what is drawn. Values beyond the axis are dots at its
// end, hollow.
func (s Strip) draw(c *canvas, ax axis, scale Scale, left, right float64) {
	y := c.height + stripHeight/2
	c.text(left-8, y+Size*0.35, "pt", "end", shorten(s.Label, Width*0.3))
	if len(s.Points) > 0 {
		at := func(v float64) float64 { return ax.at(scale.Of(v)) }
		if s.HaveInterval {
			c.rect(at(s.Low), y-7, at(s.High)-at(s.Low), 14, colour(s.Colour)+" pf", s.Label+": 95 % interval "+scale.Number(s.Low)+" to "+scale.Format(s.High))
		}
		for _, p := range s.Points {
			class, x := "pd", at(p)
			if v := scale.Of(p); v < ax.low || v > ax.high {
				class, x = "px", min(max(x, left+3), right-3)
			}
			c.dot(x, y, 2.4, class, scale.Format(p))
		}
		c.rect(at(s.Median)-1.5, y-9, 3, 18, colour(s.Colour)+" ps", s.Label+": median "+scale.Format(s.Median))
		c.text(right+8, y+Size*0.35, "pt", "start", s.caption(scale))
	}
	if s.Verdict != "" {
		c.text(left+8, y+stripHeight/2+Size*0.8, "pt m", "start", Cut(s.Verdict, int((Width-left-8)/(Size*runeWidth))))
	}
	c.height += s.height()
}
