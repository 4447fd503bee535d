// Package chart draws the figures of benchmarks: as SVG, which a browser shows in
// the colours of its page, light or dark, and bars, effects and runs as text too.
// Quantity prints a value for people.
//
// It knows nothing of benchmarks. gonum/plot was measured first: it made the
// binary 7.4 MB larger (44 %) and every start of piton 1.3 ms of CPU time longer
// (a third), and its text is black whatever the page. Start at Figure.
package chart

import (
	_ "embed"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Figure is one picture with its words.
type Figure struct {
	Title string
	Note  string // below it; may be empty
	Plot  Plot   // nil = the words alone
}

// Plot is Bars, Effects, Heat, Lines, RunStrips or Spans.
type Plot interface {
	// Empty reports whether there is nothing to draw.
	Empty() bool
	draw(c *canvas)
}

// Width is how many units of its own an SVG is wide; text is Size of them high.
const (
	Width = 720.0
	Size  = 13.0

	// Heights of a row, and of all Lines.
	barHeight, effectHeight, cellHeight, runHeight, spanHeight, linesHeight = 22.0, 26.0, 38.0, 30.0, 30.0, 260.0
)

//go:embed style.css
var styleLines string

// Style is the style sheet that the figures need: alone, an SVG brings it along.
var Style = strings.ReplaceAll(styleLines, "\n", "")

// colours is how many series have a colour of their own in Style.
const colours = 6

// Inline is the figure for a page that has Style: an svg element and nothing else.
func (f Figure) Inline() string {
	c := f.canvas()
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">%s</svg>`,
		num(Width), num(c.height), Escape(f.Title), c.out.String())
}

// SVG is a document with several figures below each other.
func SVG(figures []Figure) []byte {
	var body strings.Builder
	y := 0.0
	for _, f := range figures {
		c := f.canvas()
		fmt.Fprintf(&body, `<g transform="translate(0 %s)">%s</g>`, num(y), c.out.String())
		y += c.height + 2*Size
	}
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s">`+
		`<style>%[3]s</style><rect class="pb" width="%[1]s" height="%[2]s"/>%[4]s</svg>`+"\n", num(Width), num(max(y, Size)), Style, body.String())
}

// canvas draws the figure. Its height is known afterwards.
func (f Figure) canvas() *canvas {
	c := &canvas{height: 2 * Size}
	c.text(0, Size*1.1, "pt h", "start", f.Title)
	switch {
	case f.Plot == nil:
		c.height -= Size
	case f.Plot.Empty():
		c.text(0, c.height+Size, "pt m", "start", "nothing was measured")
		c.height += 2 * Size
	default:
		f.Plot.draw(c)
	}
	for _, line := range Wrap(f.Note, 100) {
		c.height += Size * 1.4
		c.text(0, c.height, "pt m", "start", line)
	}
	if f.Note != "" {
		c.height += Size * 0.6
	}
	return c
}

// canvas is SVG being written; y grows downwards and height is what is used.
type canvas struct {
	out    strings.Builder
	height float64
}

func (c *canvas) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&c.out, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`, num(x), num(y), class, anchor, Escape(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.out, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

// rect draws a box; what is caption about it shows when it is pointed at.
func (c *canvas) rect(x, y, w, h float64, class, caption string) {
	fmt.Fprintf(&c.out, `<rect x="%s" y="%s" width="%s" height="%s" class="%s">%s</rect>`, num(x), num(y), num(max(w, 0)), num(h), class, title(caption))
}

func (c *canvas) dot(x, y, r float64, class, caption string) {
	fmt.Fprintf(&c.out, `<circle cx="%s" cy="%s" r="%s" class="%s">%s</circle>`, num(x), num(y), num(r), class, title(caption))
}

func title(caption string) string {
	if caption == "" {
		return ""
	}
	return "<title>" + Escape(caption) + "</title>"
}

// colour is the class of the i-th series.
func colour(i int) string { return "p" + strconv.Itoa(i%colours) }

// num prints a coordinate. What is no number becomes 0, so that a document with it is still one.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// Clean makes characters U+FFFD that XML has no way to hold, or that are not seen and may turn
// their neighbours around; blanks of any width stay.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || r == '\t' {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Escape makes text safe in elements and attributes.
func Escape(text string) string { return html.EscapeString(Clean(text)) }

// runeWidth is what a rune of text takes of Size; few texts take more.
const runeWidth = 0.6

// textWidth is about how wide text is in units of the SVG.
func textWidth(text string) float64 { return float64(utf8.RuneCountInString(text)) * Size * runeWidth }

// Plural is a number of things: "1 task", "12 tasks", "3 processes".
func Plural(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Wrap breaks text between words into lines of at most width cells; a longer word stays whole, as
// do options, signs and CPU lists, which ansi.Wordwrap breaks at their hyphens.
func Wrap(text string, width int) (lines []string) {
	const glue = "\uf8ff" // no line begins with the sign of "2.1 %"
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, " %", glue+"%")) {
		last := len(lines) - 1
		if last < 0 || ansi.StringWidth(lines[last])+1+ansi.StringWidth(word) > width {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, glue, " ")
	}
	return lines
}
