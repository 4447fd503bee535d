package wakeup

import (
	"fmt"
	"strings"

	"piton/internal/chart"
)

// Picture draws how many wakeups took how long, and gives percentiles.
func (r Result) Picture(width int) []string {
	var out []string
	most := 1
	for _, n := range r.Wakeups.Octave {
		most = max(most, n)
	}
	const label = len("from 999 µs ")
	room := max(width-label-len(" 1,999,999"), 4)
	for i, n := range r.Wakeups.Octave {
		if n == 0 && (i == 0 || r.Wakeups.Octave[i-1] == 0) {
			continue
		}
		bar := strings.Repeat("█", n*room/most)
		if n > 0 && bar == "" {
			bar = "▏"
		}
		out = append(out, fmt.Sprintf("%*s %s %s", label-1, octave(i), bar, chart.Digits(float64(n))))
	}
	out = append(out,
		"wakeups: "+r.Wakeups.text(),
		"replies: "+r.Replies.text(),
		fmt.Sprintf("%s of %s requests found their worker busy", chart.Digits(float64(r.Queued)), chart.Digits(float64(r.Replies.Count))))
	return chart.CutAll(out, width)
}

func (s Spread) text() string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, longest %s", us(s.P50), us(s.P90), us(s.P99), us(s.P999), us(s.Max))
}

// octave is the shortest time of the i-th one.
func octave(i int) string {
	if i == 0 {
		return "below 1 µs"
	}
	return "from " + us(float64(uint64(1)<<(i-1)))
}

func us(v float64) string { return chart.Quantity(v, "µs") }

// Figures are the percentiles of wakeups and replies.
func (r Result) Figures() []chart.Figure {
	var bars []chart.Bar
	for colour, of := range []struct {
		name string
		Spread
	}{{"wakeup", r.Wakeups}, {"reply", r.Replies}} {
		for _, q := range []struct {
			name  string
			value float64
		}{{"p50", of.P50}, {"p99", of.P99}, {"p99.9", of.P999}} {
			bars = append(bars, chart.Bar{Label: of.name + " " + q.name, Value: q.value, Colour: colour})
		}
	}
	return []chart.Figure{{Title: "Wakeup latency", Plot: chart.Bars{Unit: "µs", Bars: bars},
		Note: fmt.Sprintf("%d message threads with %d workers each, %d requests a second each; a reply is from when a request was due to its end.", r.Messages, r.Workers, r.Rate)}}
}
