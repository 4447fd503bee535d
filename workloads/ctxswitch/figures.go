package ctxswitch

import (
	"fmt"

	"piton/internal/chart"
)

// Figures are the parts of a hand-over, or the first timeslices.
func (r Result) Figures() []chart.Figure {
	switch {
	case r.Turn != nil:
		return []chart.Figure{r.Turn.timeslices()}
	case r.Ring != nil:
		return []chart.Figure{{Title: "Cost of a hand-over", Plot: chart.Bars{Unit: "µs", Bars: []chart.Bar{
			{Label: "hand-over", Value: r.Ring.PassUs}, {Label: "system calls and memory", Value: r.Ring.OverheadUs, Colour: 1},
			{Label: "context switch", Value: r.Ring.SwitchUs, Colour: 2}}},
			Note: fmt.Sprintf("%d processes, %s, %d KiB each; a round takes %s on average.", r.Procs, r.Mode, r.KiB, chart.Quantity(r.Ring.RoundTripUs, "µs"))}}
	}
	return nil
}

// slicesShown is how many timeslices are drawn, from the first.
const slicesShown = 60

func (t *Turn) timeslices() chart.Figure {
	s := chart.Spans{Unit: "ms", Rows: make([]chart.SpanRow, len(t.Shares))}
	for i, share := range t.Shares {
		s.Rows[i].Label = fmt.Sprintf("process %d, %s", i, chart.Percent(share.Share))
	}
	for _, a := range t.Timeline[:min(len(t.Timeline), slicesShown)] {
		if a[0] < 0 || int(a[0]) >= len(s.Rows) {
			continue
		}
		row := &s.Rows[a[0]]
		row.Spans = append(row.Spans, chart.Span{From: float64(a[1]) / 1e6, To: float64(a[2]) / 1e6, Colour: int(a[0])})
		s.End = max(s.End, float64(a[2])/1e6)
	}
	return chart.Figure{Title: "Timeslices", Plot: s, Note: fmt.Sprintf("%d timeslices of %s on average, median %s; %d hand-overs, median %s, least %s.",
		t.Turns, us(t.MeanTurnUs), us(t.MedianTurnUs), t.Handovers, us(t.HandoverUs), us(t.BestUs))}
}
