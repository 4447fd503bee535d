package stripio

import (
	"fmt"

	"piton/internal/chart"
)

// Figures are the times of the cost model.
func (r Result) Figures() []chart.Figure {
	m := r.Model
	if m == nil {
		return []chart.Figure{{Title: "Cost model", Plot: chart.Bars{}, Note: "No model: " + r.ModelWhy}}
	}
	return []chart.Figure{{Title: "Cost model: source-aware is faster: " + string(m.Wins), Plot: chart.Bars{Unit: "s", Bars: []chart.Bar{
		{Label: "balanced, minimum", Value: m.Balanced},
		{Label: "source-aware, minimum to maximum", Value: m.AwareLeast, UpTo: m.AwareMost, Colour: 1,
			Caption: seconds(m.AwareLeast) + " to " + seconds(m.AwareMost)}}},
		Note: fmt.Sprintf("P %s to process a strip, M %s to move it, %d requests of %d strips, %d CPUs. Measured: %s with %s of the CPUs.",
			seconds(m.Strip), seconds(m.Move), m.Requests, m.Servers, m.Cores, chart.Quantity(r.MBs, "MB/s"), chart.Percent(r.CPUPercent/100))}}
}
