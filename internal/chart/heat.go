package chart

import (
	"fmt"
	"math"
	"strings"
)

// Heat is a table of values whose cells are shaded by them.
type Heat struct {
	Rows, Columns []string
	Values        [][]float64 // by row; NaN is an empty cell
	Notes         [][]string  // small, below the value; may be nil
}

// Empty reports whether there is no cell.
func (h Heat) Empty() bool { return len(h.Values) == 0 || len(h.Columns) == 0 }

const cellHeight = 38.0

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
