package stripio

import (
	"fmt"
	"math"

	"piton/internal/chart"
)

// Figures are the times of the cost model.
func (r Result) Figures() []chart.Figure {
	m := r.Model
	if m == nil {
		return []chart.Figure{{Title: "Cost model", Plot: chart.Bars{}, Note: "No model: " + r.ModelWhy}}
	}
	return []chart.Figure{{Title: "Cost model: source-aware is faster: " + string(m.Wins), Plot: chart.Bars{Unit: "s", Bars: []chart.Bar{
		{Label: "balanced, minimum", Value: finite(m.Balanced)},
		{Label: "source-aware, minimum to maximum", Value: finite(m.AwareLeast), UpTo: finite(m.AwareMost), Colour: 1,
			Caption: chart.Quantity(m.AwareLeast, "s") + " to " + chart.Quantity(m.AwareMost, "s")}}},
		Note: fmt.Sprintf("P %s to process a strip, M %s to move it, %d requests of %d strips, %d CPUs. Measured: %s with %s of the CPUs.",
			chart.Quantity(m.Strip, "s"), chart.Quantity(m.Move, "s"), m.Requests, m.Servers, m.Cores, chart.Quantity(r.MBs, "MB/s"), chart.Percent(r.CPUPercent/100))}}
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
