package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/group"
)

// Lines are curves over one pair of axes.
type Lines struct {
	X, Y       string // what the axes are
	Unit       string // of Y; "" = Y names it, or there is none
	LogX, LogY bool
	FromZero   bool // the y axis
	Lines      []Line
	Marks      []Mark
	XFormat    func(float64) string // nil = Short
}

// Line is one curve.
type Line struct {
	Name   string
	Points []Point // by X
	Dots   bool    // dots alone, no line
}

// Point is one of a curve.
type Point struct{ X, Y float64 }

// Mark is a value of X with a name, drawn from bottom to top.
type Mark struct {
	X    float64
	Name string
}

// Empty reports whether no curve has a point.
func (l Lines) Empty() bool {
	return !slices.ContainsFunc(l.Lines, func(line Line) bool { return len(line.Points) > 0 })
}

// axes are those of the points. Y is in the unit of scale, that which its values are read in.
func (l Lines) axes() (x, y axis, scale Scale) {
	var xs, ys []float64
	most := 0.0
	for _, line := range l.Lines {
		for _, p := range line.Points {
			xs, ys, most = append(xs, p.X), append(ys, p.Y), max(most, math.Abs(p.Y))
		}
	}
	if scale = (Scale{factor: 1}); l.Unit != "" {
		scale = ScaleFor(most, l.Unit)
	}
	for i := range ys {
		ys[i] = scale.Of(ys[i])
	}
	x, y = newAxis(xs, l.LogX), newAxis(ys, l.LogY).fromZero(l.FromZero)
	if l.XFormat != nil {
		x.format = l.XFormat
	}
	return x, y, scale
}

func (l Lines) draw(c *canvas) {
	x, y, scale := l.axes()
	const left, right = 66.0, Width - 16
	top, bottom := c.height+Size, c.height+linesHeight
	c.text(0, c.height+Size*0.5, "pt m", "start", strings.TrimSuffix(l.Y+", "+scale.Unit, ", "))
	x, y = x.onto(left, right), y.onto(bottom, top+Size)
	for _, v := range y.ticks(6) {
		c.line(left, y.at(v), right, y.at(v), "pg")
		c.text(left-6, y.at(v)+Size*0.35, "pt m", "end", y.format(v))
	}
	for _, m := range l.Marks {
		if m.X < x.low || m.X > x.high {
			continue
		}
		c.line(x.at(m.X), top+Size, x.at(m.X), bottom, "px")
		c.text(x.at(m.X)-4, top+Size*2, "pt m", "end", m.Name)
	}
	var names []string
	for i, line := range l.Lines {
		line.draw(c, x, y, scale, i)
		names = append(names, line.Name)
	}
	c.ticks(x, bottom, l.X)
	c.height += Size * 0.2
	if len(l.Lines) > 1 {
		c.legend(names, left)
	}
}

func (l Line) draw(c *canvas, x, y axis, scale Scale, series int) {
	points := group.Each(l.Points, func(p Point) string { return num(x.at(p.X)) + "," + num(y.at(scale.Of(p.Y))) })
	if !l.Dots && len(points) > 1 {
		fmt.Fprintf(&c.out, `<polyline points="%s" class="%s pl"/>`, strings.Join(points, " "), colour(series))
	}
	for _, p := range l.Points {
		v := scale.Of(p.Y)
		c.dot(x.at(p.X), y.at(v), 3, colour(series)+" ps", strings.TrimSpace(l.Name+" "+x.format(p.X)+": "+Short(v)))
	}
}
