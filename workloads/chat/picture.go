package chat

import (
	"fmt"
	"strings"

	"piton/internal/chart"
)

// Picture draws the CPU time and switches of each process, bars on one scale.
func (r Result) Picture(width int) []string {
	var most float64
	for _, u := range r.Processes {
		most = max(most, u.UserSeconds+u.SystemSeconds)
	}
	out := []string{fmt.Sprintf("%s received; per message %s switches and %s of CPU time", chart.Quantity(r.PerS, "messages/s"),
		chart.Digits(r.perMessage(float64(r.Sum.Voluntary+r.Sum.Involuntary))), chart.Quantity(r.perMessage(r.Sum.UserSeconds+r.Sum.SystemSeconds), "s"))}
	const labels = len("server 12 on CPU 1234567  ") + len(" 12.34 s, 1234567 switches")
	room := max(width-labels, 8)
	for i, u := range r.Processes {
		cpus := ""
		if u.CPUs != "" {
			cpus = "on CPU " + u.CPUs
		}
		used := u.UserSeconds + u.SystemSeconds
		bar := func(seconds float64, cell string) string {
			return strings.Repeat(cell, int(seconds/max(most, 1e-9)*float64(room)))
		}
		out = append(out, fmt.Sprintf("%s %-2d %-14s %s%s %s, %d switches", u.Role, i/2, cpus,
			bar(u.UserSeconds, "█"), bar(u.SystemSeconds, "░"), chart.Quantity(used, "s"), u.Voluntary+u.Involuntary))
	}
	out = append(out, "█ user, ░ system")
	if text := r.aggregation(); text != "" {
		out = append(out, text)
	}
	return chart.CutAll(out, width)
}

func (r Result) perMessage(n float64) float64 { return n / max(float64(r.Heard), 1) }

// aggregation says in words how threads were aggregated, "" if they were not.
func (r Result) aggregation() string {
	switch r.Aggregation {
	case bySchedExt:
		return "threads of one address space run one after another (sched_ext)"
	case bySlices:
		return strings.TrimSuffix(fmt.Sprintf("slices of %d ms; %s", LongSlice/1_000_000, r.Why), "; ")
	}
	return r.Why
}
