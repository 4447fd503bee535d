package chat

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Picture draws what each process used and how often it was switched, bars of
// CPU time on one scale. Lines are at most width cells wide.
func Picture(r Result, width int) []string {
	var most float64
	for _, u := range r.Processes {
		most = max(most, u.UserSeconds+u.SystemSeconds)
	}
	out := []string{fmt.Sprintf("%.0f messages/s heard, %.2f switches and %.1f µs of CPU a message", r.PerS,
		r.perMessage(float64(r.Sum.Voluntary+r.Sum.Involuntary)), 1e6*r.perMessage(r.Sum.UserSeconds+r.Sum.SystemSeconds))}
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
		out = append(out, fmt.Sprintf("%s %-2d %-14s %s%s %.2f s, %d switches", u.Role, i/2, cpus,
			bar(u.UserSeconds, "█"), bar(u.SystemSeconds, "░"), used, u.Voluntary+u.Involuntary))
	}
	out = append(out, "█ in the program, ░ in the kernel")
	if text := r.aggregation(); text != "" {
		out = append(out, text)
	}
	for i, line := range out {
		if utf8.RuneCountInString(line) > width {
			out[i] = string([]rune(line)[:width])
		}
	}
	return out
}

func (r Result) perMessage(n float64) float64 { return n / max(float64(r.Heard), 1) }

// aggregation says in words how threads were aggregated, "" if they were not.
func (r Result) aggregation() string {
	switch r.Aggregation {
	case bySchedExt:
		return "threads of one address space one after another, by sched_ext"
	case bySlices:
		return strings.TrimSuffix(fmt.Sprintf("slices of %d ms; %s", LongSlice/1_000_000, r.Why), "; ")
	}
	return r.Why
}
