package ctxswitch

import (
	"fmt"
	"unicode/utf8"
)

// Picture draws each process's turns on a line, or tells the figures of a ring.
// Lines are at most width cells wide.
func Picture(r Result, width int) []string {
	var out []string
	switch {
	case r.Turn != nil:
		out = append(r.Turn.lines(width), r.Turn.figures()...)
	case r.Ring != nil:
		out = r.ringFigures()
	}
	for i, l := range out {
		if utf8.RuneCountInString(l) > width {
			out[i] = string([]rune(l)[:max(width, 0)])
		}
	}
	return out
}

// cellNs is what one cell of the picture is at least.
const cellNs = 250_000

// lines are the beginning of the window, a line for each process.
func (t *Turn) lines(width int) []string {
	const label = len("process 12 ")
	columns := max(width-label, 10)
	span := min(t.WindowMs*1e6, float64(columns)*cellNs)
	each := span / float64(columns)
	cells := make([][]float64, len(t.Shares))
	for i := range cells {
		cells[i] = make([]float64, columns)
	}
	for _, a := range t.Timeline {
		row, from, to := cells[a[0]], float64(a[1]), float64(a[2])
		for k := int(from / each); k < columns && float64(k)*each < to; k++ {
			row[k] += (min(to, float64(k+1)*each) - max(from, float64(k)*each)) / each
		}
	}
	var out []string
	for i, row := range cells {
		line := fmt.Sprintf("process %-2d ", i)
		for _, share := range row {
			line += glyph(share)
		}
		out = append(out, line)
	}
	return append(out, fmt.Sprintf("%*s█ runs  ▒ in part  · waits; the first %.1f ms of %.1f", label, "", span/1e6, t.WindowMs))
}

func glyph(share float64) string {
	switch {
	case share > 0.75:
		return "█"
	case share > 0.1:
		return "▒"
	}
	return "·"
}

func (t *Turn) figures() []string {
	out := []string{
		fmt.Sprintf("%d turns, %.3f ms on average, median %.3f, longest %.3f ms", t.Turns, t.MeanTurnUs/1e3, t.MedianTurnUs/1e3, t.LongestTurnUs/1e3),
		fmt.Sprintf("%d hand-overs, %d of them direct: median %.2f µs, least %.2f µs", t.Handovers, t.Direct, t.HandoverUs, t.BestUs),
	}
	line := "shares of the time:"
	for _, s := range t.Shares {
		line += fmt.Sprintf(" %.1f%%", s.Share*100)
	}
	return append(out, line)
}

func (r Result) ringFigures() []string {
	g := r.Ring
	return []string{
		fmt.Sprintf("%d processes on CPU %d, %s, %d KiB each, %d rounds", r.Procs, r.CPU, r.Mode, r.KiB, r.Rounds),
		fmt.Sprintf("%.3f µs to pass on, less %.3f µs for the calls and the memory: %.3f µs a switch", g.PassUs, g.OverheadUs, g.SwitchUs),
		fmt.Sprintf("%.3f µs a round on average, best %.3f µs to pass on", g.RoundTripUs, g.BestPassUs),
	}
}
