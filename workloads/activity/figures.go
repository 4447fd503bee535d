package activity

import (
	"fmt"

	"piton/internal/chart"
)

const barRows = 6

// Figures are a timeline in rows, as long as single ticks can be seen in
// it, and the CPU time of others.
func (r Result) Figures() []chart.Figure {
	end := r.Observed * 1e9
	if n := len(r.Intervals); n > 0 {
		end = min(end, float64(r.Intervals[n-1][0]+r.Intervals[n-1][1]))
	}
	each := end / barRows
	if r.Tick.Found {
		each = min(each, 12*r.Tick.PeriodNs)
	}
	s := chart.Spans{Unit: "ms of the row", End: each / 1e6, Legend: []string{"active", "tick", "", "", "other interruption"}}
	for i := range barRows {
		from := float64(i) * each
		row := chart.SpanRow{Label: fmt.Sprintf("%.1f ms", from/1e6), Filled: true}
		for _, iv := range r.Intervals {
			start, stop := float64(iv[0]), float64(iv[0]+iv[1])
			if stop <= from || start >= from+each {
				continue
			}
			colour := 4
			if iv[2] == 1 {
				colour = 1
			}
			row.Spans = append(row.Spans, chart.Span{From: (max(start, from) - from) / 1e6, To: (min(stop, from+each) - from) / 1e6, Colour: colour})
		}
		s.Rows = append(s.Rows, row)
	}
	note := fmt.Sprintf("%s of %s lost in %d interruptions, the longest %s; counter %s at %.1f MHz.", chart.Percent(r.Share),
		chart.Quantity(r.Observed, "s"), r.Gaps, chart.Quantity(r.LongestNs, "ns"), r.Source, r.CounterHz/1e6)
	return []chart.Figure{{Title: "Active and inactive intervals", Plot: s, Note: note}, r.otherTime()}
}

func (r Result) otherTime() chart.Figure {
	b := chart.Bars{Unit: "s"}
	for _, c := range r.Occupants {
		b.Bars = append(b.Bars, chart.Bar{Label: fmt.Sprintf("%s %s (%d)", c.Kind, c.Name, c.ID), Value: c.Seconds,
			Caption: fmt.Sprintf("%s, %d times on CPU %d", chart.Quantity(c.Seconds, "s"), c.Times, c.CPU)})
	}
	f := chart.Figure{Title: "CPU time of other tasks and interrupts", Plot: b}
	if r.Unnamed != "" {
		f.Note = "Unknown: " + r.Unnamed
	}
	return f
}
