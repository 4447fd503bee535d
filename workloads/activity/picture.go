package activity

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/chart"
)

const pictureRows = 8

// Picture draws the time as bars, a line after the other: full where the program
// ran, with a gap where it was interrupted, and a mark for what the gap was; then
// the figures.
func (r Result) Picture(width int) []string {
	var out []string
	if r.Observed > 0 && len(r.Intervals) > 0 {
		out = r.bars(width)
	}
	out = append(out, r.figures()...)
	return chart.CutAll(out, width)
}

// cell is what one cell of the bars stands for.
type cell struct {
	lost  float64 // share of its time
	tick  bool
	other bool
}

// bars draws as much of the beginning as shows single interruptions: a cell is
// half the mean time between two, so that ticks stand apart.
func (r Result) bars(width int) []string {
	const label = len("1234.5 ms ")
	columns := max(width-label, 10)
	span := min(r.Observed*1e9, r.drawn())
	each := min(span/float64(columns*pictureRows), r.spacing()/4)
	rows := int(math.Ceil(span / each / float64(columns)))
	cells := make([]cell, min(rows, pictureRows)*columns)
	for _, iv := range r.Intervals {
		fill(cells, each, iv)
	}
	var out []string
	for row := 0; row < len(cells); row += columns {
		line := fmt.Sprintf("%7.2f ms ", float64(row)*each/1e6)
		for _, c := range cells[row : row+columns] {
			line += c.glyph()
		}
		out = append(out, line)
	}
	return append(out, fmt.Sprintf("%*s█ active  ╷ tick  ▒ other interruption  · inactive; a cell is %s", label, "", ns(each)))
}

// drawn is up to where the intervals are known.
func (r Result) drawn() float64 {
	if len(r.Intervals) < maxKept {
		return r.Observed * 1e9
	}
	last := r.Intervals[len(r.Intervals)-1]
	return float64(last[0] + last[1])
}

// spacing is the time from one interruption to the next.
func (r Result) spacing() float64 {
	if r.Tick.Found {
		return r.Tick.PeriodNs
	}
	return max(r.MeanActiveNs, 1000)
}

func fill(cells []cell, each float64, iv Interval) {
	from, to := float64(iv[0]), float64(iv[0]+iv[1])
	for k := int(from / each); k < len(cells) && float64(k)*each < to; k++ {
		c := &cells[k]
		c.lost += (min(to, float64(k+1)*each) - max(from, float64(k)*each)) / each
		c.tick, c.other = c.tick || iv[2] == 1, c.other || iv[2] != 1
	}
}

func (c cell) glyph() string {
	switch {
	case c.lost > 0.5:
		return "·"
	case c.other:
		return "▒"
	case c.tick:
		return "╷"
	}
	return "█"
}

func (r Result) figures() []string {
	out := []string{
		fmt.Sprintf("lost: %s of %s (%s); %d interruptions, longest %s; mean active period %s",
			seconds(r.Lost), seconds(r.Observed), chart.Percent(r.Share), r.Gaps, ns(r.LongestNs), ns(r.MeanActiveNs)),
		fmt.Sprintf("counter: %s at %.1f MHz%s; one reading per %s, inactive from %s%s", r.Source, r.CounterHz/1e6, r.core(),
			ns(r.LoopNs), ns(r.ThresholdNs), r.unstable()),
	}
	if t := r.Tick; t.Found {
		out = append(out, fmt.Sprintf("ticks: %s, every %s; %d seen, %d missing, %s each, %s lost",
			chart.Quantity(t.Hz, "Hz"), ns(t.PeriodNs), t.Count, t.Missing, ns(t.MedianNs), seconds(t.Lost)))
	} else {
		out = append(out, "ticks: no period found")
	}
	out = append(out, fmt.Sprintf("other interruptions: %d, %s each, longest %s, %s lost", r.Other.Count, ns(r.Other.MedianNs), ns(r.Other.LongestNs), seconds(r.Other.Lost)))
	if len(r.CPUs) > 0 {
		out = append(out, fmt.Sprintf("on CPUs %s, %d migrations seen", strings.Trim(fmt.Sprint(r.CPUs), "[]"), r.Migrations))
	}
	for _, c := range r.Occupants {
		out = append(out, fmt.Sprintf("  cpu %-3d %-8s %-24s %8s, %d times, longest %s", c.CPU, c.Kind, fmt.Sprintf("%s (%d)", c.Name, c.ID),
			seconds(c.Seconds), c.Times, ns(c.LongestNs)))
	}
	if r.Unnamed != "" {
		out = append(out, "other tasks and interrupts unknown: "+r.Unnamed)
	}
	return out
}

func (r Result) core() string {
	if r.CoreHz == 0 {
		return ""
	}
	return fmt.Sprintf(", core at %.0f MHz", r.CoreHz/1e6)
}

func (r Result) unstable() string {
	if r.Stable {
		return ""
	}
	return " (no threshold gives stable figures)"
}

func ns(v float64) string      { return chart.Quantity(v, "ns") }
func seconds(v float64) string { return chart.Quantity(v, "s") }
