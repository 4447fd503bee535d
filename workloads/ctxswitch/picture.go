package ctxswitch

import (
	"fmt"

	"piton/internal/chart"
)

// Picture draws each process's timeslices on a line, or gives the figures of a ring.
func (r Result) Picture(width int) []string {
	var out []string
	switch {
	case r.Turn != nil:
		out = append(r.Turn.lines(width), r.Turn.figures()...)
	case r.Ring != nil:
		out = r.ringFigures()
	}
	return chart.CutAll(out, width)
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
		if a[0] < 0 || a[0] >= int64(len(cells)) || a[1] < 0 || each <= 0 {
			continue // of a damaged store
		}
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
	return append(out, fmt.Sprintf("%*s█ runs  ▒ in part  · waits; the first %s of %s", label, "", chart.Quantity(span, "ns"), chart.Quantity(t.WindowMs, "ms")))
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
		fmt.Sprintf("%d timeslices: mean %s, median %s, longest %s", t.Turns, us(t.MeanTurnUs), us(t.MedianTurnUs), us(t.LongestTurnUs)),
		fmt.Sprintf("%d hand-overs, %d of them direct: median %s, shortest %s", t.Handovers, t.Direct, us(t.HandoverUs), us(t.BestUs)),
	}
	line := "shares of CPU time:"
	for _, s := range t.Shares {
		line += " " + chart.Percent(s.Share)
	}
	return append(out, line)
}

func (r Result) ringFigures() []string {
	g := r.Ring
	return []string{
		fmt.Sprintf("%d processes on CPU %d, %s, %d KiB each, %d rounds", r.Procs, r.CPU, r.Mode, r.KiB, r.Rounds),
		fmt.Sprintf("hand-over %s, less %s for system calls and memory: context switch %s", us(g.PassUs), us(g.OverheadUs), us(g.SwitchUs)),
		fmt.Sprintf("mean round %s, shortest hand-over %s", us(g.RoundTripUs), us(g.BestPassUs)),
	}
}

func us(v float64) string { return chart.Quantity(v, "µs") }
