package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// RunStrips are samples in their order, a bar each value, on one scale for all.
type RunStrips struct {
	Unit   string
	Strips []RunStrip
}

// RunStrip is one sample.
type RunStrip struct {
	Label  string
	Runs   []float64
	Colour int
}

// Empty reports whether there is no value.
func (s RunStrips) Empty() bool {
	return !slices.ContainsFunc(s.Strips, func(one RunStrip) bool { return len(one.Runs) > 0 })
}

func (r RunStrip) label() string { return r.Label }

func (s RunStrips) longest() (n int) {
	for _, one := range s.Strips {
		n = max(n, len(one.Runs))
	}
	return n
}

// ends of the scale are round values around all but outliers, which Tukey's fences of
// their strip leave out (1.5 times the distance of the quartiles beyond them). It covers at least
// what an axis of effects does.
func (s RunStrips) ends() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, one := range s.Strips {
		sorted := slices.Sorted(slices.Values(one.Runs))
		if len(sorted) == 0 {
			continue
		}
		q1, q3 := sorted[len(sorted)/4], sorted[len(sorted)*3/4]
		fence := 1.5 * (q3 - q1)
		for _, v := range sorted {
			if v >= q1-fence && v <= q3+fence {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		return 0, 1
	}
	if least := 2 * leastEffect * math.Abs(low+high) / 2; high-low < least {
		middle := (low + high) / 2
		low, high = middle-least/2, middle+least/2
	}
	if low == high {
		high++
	}
	step := niceStep((high - low) / 4)
	return math.Floor(low/step+1e-9) * step, math.Ceil(high/step-1e-9) * step
}

// Ends are those of the scale in words, "140 to 170 ms".
func (s RunStrips) Ends() string {
	low, high := s.ends()
	scale := ScaleFor(max(math.Abs(low), math.Abs(high)), s.Unit)
	return strings.TrimSpace(Short(scale.Of(low)) + " to " + Short(scale.Of(high)) + " " + scale.Unit)
}

// runBars are the bars of a strip, lowest first. The last is of outliers too.
var runBars = []rune("▁▂▃▄▅▆▇")

// Cells draws each strip in at most width cells; where there are more values, a cell is
// the median of several.
func (s RunStrips) Cells(width int) (out []string) {
	low, high := s.ends()
	for _, one := range s.Strips {
		n, cells := len(one.Runs), ""
		for k := range min(n, max(width, 0)) {
			v := Middle(one.Runs[k*n/min(n, width) : (k+1)*n/min(n, width)])
			share := min(max((v-low)/(high-low), 0), 1)
			cells += string(runBars[min(int(share*float64(len(runBars))), len(runBars)-1)])
		}
		out = append(out, cells)
	}
	return out
}

// Least cells for the bars of a strip beside another, and what is between them.
const (
	leastStrip = 24
	stripGap   = 2
)

// Lines draws the strips with their labels, several beside each other where they fit in
// width cells. The scale is in words, with how many runs a cell is if there is no cell for each.
func (s RunStrips) Lines(width int) (lines []string, scale string) {
	labels, longest := min(widest(s.Strips, RunStrip.label), max(width/3, 0)), s.longest()
	room := min(max(longest, leastStrip), max(width-labels-stripGap, 0))
	beside := max((width+stripGap)/(labels+room+2*stripGap), 1)
	rows := max((len(s.Strips)+beside-1)/beside, 1)
	beside = max((len(s.Strips)+rows-1)/rows, 1) // as many in each line
	for i, cells := range s.Cells(room) {
		text := fmt.Sprintf("%-*s%s", labels+stripGap, Cut(s.Strips[i].Label, labels), cells)
		if i%beside == 0 {
			lines = append(lines, text)
			continue
		}
		last := &lines[len(lines)-1]
		*last = fmt.Sprintf("%-*s%s", (i%beside)*(labels+room+2*stripGap), *last, text)
	}
	scale = s.Ends()
	if longest > room && room > 0 {
		scale += fmt.Sprintf(", %d runs a cell", (longest+room-1)/room)
	}
	return CutAll(lines, width), scale
}

// Text are the Lines and their scale.
func (s RunStrips) Text(width int) []string {
	lines, scale := s.Lines(width)
	return append(lines, Cut(scale, width))
}

func (s RunStrips) draw(c *canvas) {
	left, longest := margin(s.Strips, RunStrip.label), max(s.longest(), 1)
	low, high := s.ends()
	scale := ScaleFor(max(math.Abs(low), math.Abs(high)), s.Unit)
	each := min((Width-left)/float64(longest), 24)
	for _, one := range s.Strips {
		bottom := c.height + runHeight - 4
		c.label(left, bottom-Size*0.65, one.Label)
		c.line(left, bottom, left+each*float64(longest), bottom, "pg")
		for i, v := range one.Runs {
			h := max(min(max((v-low)/(high-low), 0), 1)*(runHeight-8), 1)
			c.rect(left+float64(i)*each, bottom-h, each*0.8, h, colour(one.Colour)+" ps", one.Label+": "+scale.Format(v))
		}
		c.height += runHeight
	}
	c.height += Size * 1.4
	c.text(left, c.height, "pt m", "start", s.Ends())
	c.height += Size * 0.4
}
