package stripio

import (
	"fmt"
	"strings"

	"piton/internal/chart"
)

// Picture draws the times of the model on one scale, and what was measured.
func (r Result) Picture(width int) []string {
	out := []string{fmt.Sprintf("%s with %s of the CPUs; %s", chart.Quantity(r.MBs, "MB/s"), chart.Percent(r.CPUPercent/100), r.missed())}
	if r.Model == nil {
		out = append(out, "no model: "+r.ModelWhy)
	} else {
		out = append(out, r.Model.picture(width)...)
	}
	return chart.CutAll(out, width)
}

func (r Result) missed() string {
	if r.Misses == nil {
		return r.MissesWhy
	}
	return fmt.Sprintf("%s cache misses per strip", chart.Digits(float64(*r.Misses)/float64(max(r.Transfers, 1)*perTransfer)))
}

// picture draws a bar for the time at least, and a thinner one on to the time at
// most.
func (m *Model) picture(width int) []string {
	most := max(m.Balanced, m.AwareMost, 1e-12)
	room := max(width-len("source-aware  12.3 ms to 123 ms  "), 8)
	bar := func(least, upTo float64) string {
		solid := int(least / most * float64(room))
		return strings.Repeat("█", solid) + strings.Repeat("░", int(upTo/most*float64(room))-solid)
	}
	return []string{
		fmt.Sprintf("model: P %s per strip, M %s to move it, %d requests of %d strips on %d CPUs",
			seconds(m.Strip), seconds(m.Move), m.Requests, m.Servers, m.Cores),
		fmt.Sprintf("balanced      %-17s  %s", seconds(m.Balanced)+" or more", bar(m.Balanced, m.Balanced)),
		fmt.Sprintf("source-aware  %-17s  %s", seconds(m.AwareLeast)+" to "+seconds(m.AwareMost), bar(m.AwareLeast, m.AwareMost)),
		fmt.Sprintf("source-aware delivery is faster: %s", m.Wins),
	}
}

func seconds(v float64) string { return chart.Quantity(v, "s") }
