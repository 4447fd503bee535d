package stripio

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Picture draws the model's times on one scale, beside what was measured. Lines
// are at most width cells wide.
func Picture(r Result, width int) []string {
	out := []string{fmt.Sprintf("%.0f MB/s with %.0f%% of the CPUs; %s", r.MBs, r.CPUPercent, r.missed())}
	if r.Model == nil {
		out = append(out, "no model: "+r.ModelWhy)
	} else {
		out = append(out, r.Model.picture(width)...)
	}
	for i, line := range out {
		if utf8.RuneCountInString(line) > width {
			out[i] = string([]rune(line)[:width])
		}
	}
	return out
}

func (r Result) missed() string {
	if r.Misses == nil {
		return r.MissesWhy
	}
	return fmt.Sprintf("%.0f cache misses a strip", float64(*r.Misses)/float64(max(r.Transfers, 1)*perTransfer))
}

// picture draws a bar for the time at least, and a thinner one on to the time at
// most.
func (m *Model) picture(width int) []string {
	most := max(m.Balanced, m.AwareMost, 1e-12)
	room := max(width-len("source-aware  0.0000 to 0.0000 s  "), 8)
	bar := func(least, upTo float64) string {
		solid := int(least / most * float64(room))
		return strings.Repeat("█", solid) + strings.Repeat("░", int(upTo/most*float64(room))-solid)
	}
	return []string{
		fmt.Sprintf("the model, with P %.1f µs a strip and M %.1f µs to move it, %d requests of %d strips on %d CPUs:",
			1e6*m.Strip, 1e6*m.Move, m.Requests, m.Servers, m.Cores),
		fmt.Sprintf("balanced      %.4f s or more    %s", m.Balanced, bar(m.Balanced, m.Balanced)),
		fmt.Sprintf("source-aware  %.4f to %.4f s  %s", m.AwareLeast, m.AwareMost, bar(m.AwareLeast, m.AwareMost)),
		fmt.Sprintf("source-aware delivery wins: %s", m.Wins),
	}
}
