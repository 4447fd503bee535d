package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Effects are estimates against a base on one axis that all rows share: in per
// cent, better to the right, zero marked.
type Effects struct {
	Rows          []EffectRow
	Worse, Better string // words at the ends of the axis; "" = slower, faster
}

// EffectRow is one estimate. Values are shares of the base, what is better above 0.
type EffectRow struct {
	Label            string
	Value, Low, High float64 // Low and High are of the 95 % interval, when HaveInterval
	HaveInterval     bool
	Published        *float64 // what others found; nil = nothing
	Colour           int
	Remark           string // why there is no estimate, "too few runs"; then no value is drawn
}

func (r EffectRow) label() string { return r.Label }

// Empty reports whether there is no row.
func (e Effects) Empty() bool { return len(e.Rows) == 0 }

// leastEffect is the least share that an axis reaches on each side: a narrower one
// would show noise as an effect.
const leastEffect = 0.01

// axis covers all estimates and what was published, and the intervals up to twice as
// far: one that is wider would squeeze everything else, and is marked at the end.
func (e Effects) axis() axis {
	limit, narrowest := leastEffect, math.Inf(1)
	var ends []float64
	for _, r := range e.Rows {
		if r.Published != nil {
			limit, ends = max(limit, math.Abs(*r.Published)), append(ends, *r.Published)
		}
		if r.Remark != "" {
			continue
		}
		limit, ends = max(limit, math.Abs(r.Value)), append(ends, r.Value)
		if r.HaveInterval {
			narrowest, ends = min(narrowest, (r.High-r.Low)/2), append(ends, r.Low, r.High)
		}
	}
	if !math.IsInf(narrowest, 1) {
		limit = max(limit, narrowest)
	}
	ax := axis{low: -leastEffect, high: leastEffect}
	for _, v := range ends {
		v = min(max(v, -2*limit), 2*limit)
		ax.low, ax.high = min(ax.low, v), max(ax.high, v)
	}
	// Each side has room for its word.
	ax.low, ax.high = min(ax.low, -ax.high/3), max(ax.high, -ax.low/3)
	return ax
}

// Legend says how Cells are read.
func (e Effects) Legend(ascii bool) string {
	text := "● estimate, ├─┤ its 95 % interval"
	if slices.ContainsFunc(e.Rows, func(r EffectRow) bool { return r.Published != nil }) {
		text += ", ○ published"
	}
	if ascii {
		return ASCII.Replace(text)
	}
	return text
}

// Cells draws the axis and each row in exactly width cells.
func (e Effects) Cells(width int, ascii bool) (head string, rows []string) {
	width = max(width, 0)
	ax := e.axis().onto(0, float64(width-1))
	for _, r := range e.Rows {
		cells := r.cells(ax, width)
		if ascii {
			cells = ASCII.Replace(cells)
		}
		rows = append(rows, cells)
	}
	return e.head(ax, width), rows
}

// head is the ticks, zero first, and the words at the ends where they fit; where a side has
// no tick then, its end is one.
func (e Effects) head(ax axis, width int) (head string) {
	worse, better := cmp.Or(e.Worse, "slower"), cmp.Or(e.Better, "faster")
	low, high := tickLabel(ax.low), tickLabel(ax.high)
	lefts, rights := []string{worse, low + " " + worse, low}, []string{better, better + " " + high, high}
	for len(lefts) > 0 && len(rights) > 0 {
		cells := blanks(width)
		put := func(from int, text string) bool {
			label := []rune(text)
			if from < 0 || from+len(label) > width || strings.TrimSpace(string(cells[max(from-1, 0):min(from+len(label)+1, width)])) != "" {
				return false
			}
			return copy(cells[from:], label) > 0
		}
		tick := func(v float64) bool {
			label := tickLabel(v)
			return put(int(math.Round(ax.at(v)))-utf8.RuneCountInString(label)/2, label)
		}
		tick(0)
		left := put(0, lefts[0]) && lefts[0] != worse
		right := put(width-utf8.RuneCountInString(rights[0]), rights[0]) && rights[0] != better
		for _, v := range ax.ticks(max(width/8, 2)) {
			placed := tick(v)
			left, right = left || placed && v < 0, right || placed && v > 0
		}
		if head = string(cells); left && right {
			break
		}
		if !left {
			lefts = lefts[1:]
		}
		if !right {
			rights = rights[1:]
		}
	}
	return head
}

// tickLabel has no sign: the words at the ends of the axis say which side is which.
func tickLabel(v float64) string {
	if v == 0 {
		return "0"
	}
	return Percent(math.Abs(v))
}

func blanks(n int) []rune { return []rune(strings.Repeat(" ", n)) }

func (r EffectRow) cells(ax axis, width int) string {
	cells := blanks(width)
	if width == 0 {
		return ""
	}
	at := func(v float64) int { return min(max(int(math.Round(ax.at(v))), 0), width-1) }
	cells[at(0)] = '│'
	if r.Remark != "" {
		text := []rune(Cut(r.Remark, width))
		from := at(0) + 2
		if from+len(text) > width || r.Published != nil && *r.Published > 0 {
			from = 0
		}
		copy(cells[from:], text)
	} else {
		if r.HaveInterval {
			from, to := at(r.Low), at(r.High)
			for i := from; i <= to; i++ {
				cells[i] = '─'
			}
			cells[from], cells[to] = '├', '┤'
			if r.Low < ax.low {
				cells[from] = '‹'
			}
			if r.High > ax.high {
				cells[to] = '›'
			}
		}
		cells[at(r.Value)] = '●'
	}
	if r.Published != nil {
		i := at(*r.Published)
		if cells[i] == '●' {
			cells[i] = '◉'
		} else {
			cells[i] = '○'
		}
	}
	return string(cells)
}

// Text draws the rows with their labels and the legend in lines at most width cells wide.
func (e Effects) Text(width int) []string {
	labels := min(widest(e.Rows, EffectRow.label), width/3)
	head, rows := e.Cells(width-labels-2, false)
	line := func(label, cells string) string {
		return Cut(fmt.Sprintf("%-*s%s", labels+2, Cut(label, labels), cells), width)
	}
	out := []string{line("", head)}
	for i, r := range e.Rows {
		out = append(out, line(r.Label, rows[i]))
	}
	return append(out, Cut(e.Legend(false), width))
}

// Numbers is the estimate in figures, "+0.3 % (−0.5 to 1.1 %)", or the Remark.
func (r EffectRow) Numbers() string {
	if r.Remark != "" {
		return r.Remark
	}
	plus := ""
	if r.Value > 0 {
		plus = "+"
	}
	if !r.HaveInterval {
		return plus + Percents(r.Value)[0] + " %"
	}
	p := Percents(r.Value, r.Low, r.High)
	return plus + p[0] + " % (" + p[1] + " to " + p[2] + " %)"
}

// Percents prints shares in per cent, without the sign of it, with as many decimals as
// the largest needs for two digits, and more where another would be 0.
func Percents(shares ...float64) (out []string) {
	most := 0.0
	for _, s := range shares {
		most = max(most, math.Abs(s*100))
	}
	decimals := 0
	for limit := 9.95; most > 0 && most < limit && decimals < 2; limit /= 10 {
		decimals++
	}
	for decimals < 3 && slices.ContainsFunc(shares, func(s float64) bool { return s != 0 && math.Abs(s*100) < 0.5*math.Pow(10, -float64(decimals)) }) {
		decimals++
	}
	for _, s := range shares {
		text := strconv.FormatFloat(math.Abs(s*100), 'f', decimals, 64)
		if s < 0 && strings.Trim(text, "0.") != "" {
			text = "−" + text
		}
		out = append(out, text)
	}
	return out
}

// Wholes are shares in whole per cent that add up to 100: each is rounded down, and those that lost
// most get one more.
func Wholes(shares []float64) []int {
	out, left := make([]int, len(shares)), 100
	lost := make([]float64, len(shares))
	for i, s := range shares {
		out[i] = int(s * 100)
		lost[i] = s*100 - float64(out[i])
		left -= out[i]
	}
	for ; left > 0 && len(shares) > 0; left-- {
		most := 0
		for i := range lost {
			if lost[i] > lost[most]+1e-9 { // the first of those alike
				most = i
			}
		}
		out[most]++
		lost[most] = -1
	}
	return out
}

func (e Effects) draw(c *canvas) {
	left := margin(e.Rows, EffectRow.label)
	right := Width - margin(e.Rows, EffectRow.Numbers) - 4
	ax := e.axis().onto(left+8, right-8)
	top := c.height
	bottom := top + float64(len(e.Rows))*effectHeight
	for _, v := range ax.ticks(6) {
		class := "pg"
		if v == 0 {
			class = "px"
		}
		c.line(ax.at(v), top, ax.at(v), bottom, class)
		c.text(ax.at(v), bottom+Size*1.2, "pt m", "middle", tickLabel(v))
	}
	for i, r := range e.Rows {
		r.draw(c, ax, top+(float64(i)+0.5)*effectHeight, left, right)
	}
	worse, better := cmp.Or(e.Worse, "slower"), cmp.Or(e.Better, "faster")
	c.text(left+8, bottom+Size*2.5, "pt m", "start", "← "+worse)
	c.text(right-8, bottom+Size*2.5, "pt m", "end", better+" →")
	c.height = bottom + Size*3
}

func (r EffectRow) draw(c *canvas, ax axis, y, left, right float64) {
	caption := r.Label + ": " + r.Numbers()
	c.label(left, y, r.Label)
	c.text(right+8, y+Size*0.35, "pt", "start", shorten(r.Numbers(), labelRoom))
	at := func(v float64) float64 { return min(max(ax.at(v), left), right) }
	if r.Remark == "" {
		if r.HaveInterval {
			c.rect(at(r.Low), y-7, at(r.High)-at(r.Low), 14, colour(r.Colour)+" pf", caption)
		}
		c.dot(at(r.Value), y, 5, colour(r.Colour)+" ps", caption)
	}
	if r.Published != nil {
		c.dot(at(*r.Published), y, 5, "pw", r.Label+": published "+EffectRow{Value: *r.Published}.Numbers())
	}
}
