package memlat

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/chart"
	"piton/internal/group"
)

const rows = 12

// Picture draws each curve, both axes logarithmic, and what was found below it.
func (r Result) Picture(width int) []string {
	var out []string
	for _, c := range r.Curves {
		if c.Node != AnyNode {
			out = append(out, fmt.Sprintf("memory of node %d", c.Node))
		}
		out = append(out, c.chart(width)...)
		out = append(out, group.Each(c.Levels, Level.line)...)
	}
	return chart.CutAll(out, width)
}

// chart draws the points as bars, several columns a point where there is room.
func (c Curve) chart(width int) []string {
	const labels = len("123.4 ns ")
	n := len(c.Points)
	if n == 0 || width < labels+n {
		return nil
	}
	wide := min((width-labels)/n, 3)
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range c.Points {
		low, high = min(low, math.Log2(p.Ns)), max(high, math.Log2(p.Ns))
	}
	step := max(high-low, 1) / (rows - 1)
	var out []string
	for row := rows - 1; row >= 0; row-- {
		line := fmt.Sprintf("%5.1f ns ", math.Exp2(low+float64(row)*step))
		for _, p := range c.Points {
			line += strings.Repeat(eighth((math.Log2(p.Ns)-low)/step-float64(row)+1), wide)
		}
		out = append(out, line)
	}
	first, last := Size(int64(c.Points[0].Bytes)), Size(int64(c.Points[n-1].Bytes))
	gap := max(wide*n-len(first)-len(last), 1)
	return append(out, strings.Repeat(" ", labels)+first+strings.Repeat(" ", gap)+last)
}

var eighths = []rune(" ▁▂▃▄▅▆▇█")

// eighth is a cell filled up to a share.
func eighth(share float64) string {
	return string(eighths[int(math.Round(min(max(share, 0), 1)*8))])
}

func (l Level) line() string {
	text := fmt.Sprintf("%-8s %8s", l.Name, chart.Quantity(l.Ns, "ns"))
	if l.Cycles > 0 {
		text += fmt.Sprintf(" %6s cycles", chart.Digits(l.Cycles))
	}
	if l.UpToBytes > 0 {
		text += "  up to about " + Size(l.UpToBytes)
	}
	if l.SysBytes > 0 {
		text += ", according to /sys " + Size(l.SysBytes)
	}
	return text
}

// Size prints bytes in the largest unit that gives a number of one or more.
func Size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.4g GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.4g MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.4g KiB", float64(bytes)/(1<<10))
}
