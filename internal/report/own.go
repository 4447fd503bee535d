package report

import (
	"fmt"
	"math"

	"piton/internal/chart"
	"piton/workloads/activity"
	"piton/workloads/chat"
	"piton/workloads/ctxswitch"
	"piton/workloads/memlat"
	"piton/workloads/stripio"
)

func memlatFigures(r memlat.Result) []chart.Figure {
	l := chart.Lines{X: "memory used", Y: "ns a load", LogX: true, LogY: true, XFormat: func(v float64) string { return memlat.Size(int64(v)) }}
	note := ""
	for _, c := range r.Curves {
		line := chart.Line{Name: "memory"}
		if c.Node != memlat.AnyNode {
			line.Name = fmt.Sprintf("memory of node %d", c.Node)
		}
		for _, p := range c.Points {
			line.Points = append(line.Points, chart.Point{X: float64(p.Bytes), Y: p.Ns})
		}
		l.Lines = append(l.Lines, line)
		for _, level := range c.Levels {
			note += fmt.Sprintf("%s %.2f ns", level.Name, level.Ns)
			if level.Cycles > 0 {
				note += fmt.Sprintf(" (%.0f cycles)", level.Cycles)
			}
			note += ". "
		}
	}
	for _, c := range r.Caches {
		l.Marks = append(l.Marks, chart.Mark{X: float64(c.Bytes), Name: fmt.Sprintf("L%d", c.Level)})
	}
	return []chart.Figure{{Title: "Latency by size", Plot: l, Note: note}}
}

// barRows is how many rows the bars of activity take.
const barRows = 6

// activityFigures are rows of time one below the other, as many periods of the
// tick as can be told apart.
func activityFigures(r activity.Result) []chart.Figure {
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
	note := fmt.Sprintf("%.4f %% of %.0f ms lost in %d interruptions, the longest %.1f µs; counter %s at %.1f MHz.",
		r.Share*100, r.Observed*1e3, r.Gaps, r.LongestNs/1e3, r.Source, r.CounterHz/1e6)
	return []chart.Figure{{Title: "Active and inactive intervals", Plot: s, Note: note}, culprits(r)}
}

func culprits(r activity.Result) chart.Figure {
	b := chart.Bars{Unit: "ms"}
	for _, c := range r.Culprits {
		b.Bars = append(b.Bars, chart.Bar{Label: fmt.Sprintf("%s %s (%d)", c.Kind, c.Name, c.ID), Value: c.Seconds * 1e3,
			Told: fmt.Sprintf("%.3f ms, %d times on CPU %d", c.Seconds*1e3, c.Times, c.CPU)})
	}
	f := chart.Figure{Title: "Who had the CPUs meanwhile", Plot: b}
	if r.Unnamed != "" {
		f.Note = "Not known: " + r.Unnamed
	}
	return f
}

func ctxswitchFigures(r ctxswitch.Result) []chart.Figure {
	switch {
	case r.Turn != nil:
		return []chart.Figure{turns(r.Turn)}
	case r.Ring != nil:
		return []chart.Figure{{Title: "What passing it on costs", Plot: chart.Bars{Unit: "µs", Bars: []chart.Bar{
			{Label: "to pass on", Value: r.Ring.PassUs}, {Label: "of it, calls and memory", Value: r.Ring.OverheadUs, Colour: 1},
			{Label: "of it, the switch", Value: r.Ring.SwitchUs, Colour: 2}}},
			Note: fmt.Sprintf("%d processes, %s, %d KiB each; %.3f µs a round on average.", r.Procs, r.Mode, r.KiB, r.Ring.RoundTripUs)}}
	}
	return nil
}

// turnsShown is how many turns of the beginning are drawn.
const turnsShown = 60

func turns(t *ctxswitch.Turn) chart.Figure {
	s := chart.Spans{Unit: "ms", Rows: make([]chart.SpanRow, len(t.Shares))}
	for i, share := range t.Shares {
		s.Rows[i].Label = fmt.Sprintf("process %d, %.1f %%", i, share.Share*100)
	}
	for _, a := range t.Timeline[:min(len(t.Timeline), turnsShown)] {
		if a[0] < 0 || int(a[0]) >= len(s.Rows) {
			continue
		}
		row := &s.Rows[a[0]]
		row.Spans = append(row.Spans, chart.Span{From: float64(a[1]) / 1e6, To: float64(a[2]) / 1e6, Colour: int(a[0])})
		s.End = max(s.End, float64(a[2])/1e6)
	}
	return chart.Figure{Title: "Whose turn it was", Plot: s, Note: fmt.Sprintf("%d turns of %.3f ms on average, median %.3f; %d hand-overs, median %.2f µs, least %.2f.",
		t.Turns, t.MeanTurnUs/1e3, t.MedianTurnUs/1e3, t.Handovers, t.HandoverUs, t.BestUs)}
}

func chatFigures(r chat.Result) []chart.Figure {
	b := chart.Bars{Unit: "s", Legend: []string{"CPU time in the program, and lighter in the kernel"}}
	for i, u := range r.Processes {
		label := fmt.Sprintf("%s %d", u.Role, i/2)
		if u.CPUs != "" {
			label += " on CPU " + u.CPUs
		}
		b.Bars = append(b.Bars, chart.Bar{Label: label, Value: u.UserSeconds, UpTo: u.UserSeconds + u.SystemSeconds,
			Told: fmt.Sprintf("%.2f s, %d switches", u.UserSeconds+u.SystemSeconds, u.Voluntary+u.Involuntary)})
	}
	return []chart.Figure{{Title: "CPU time of the processes", Plot: b, Note: fmt.Sprintf("%.0f messages a second. %s %s", r.PerS, r.Aggregation, r.Why)}}
}

func stripioFigures(r stripio.Result) []chart.Figure {
	m := r.Model
	if m == nil {
		return []chart.Figure{{Title: "The cost model", Plot: chart.Bars{}, Note: "No model: " + r.ModelWhy}}
	}
	return []chart.Figure{{Title: "The cost model: source-aware wins " + string(m.Wins), Plot: chart.Bars{Unit: "s", Bars: []chart.Bar{
		{Label: "balanced, at least", Value: finite(m.Balanced)},
		{Label: "source-aware, from … to", Value: finite(m.AwareLeast), UpTo: finite(m.AwareMost), Colour: 1,
			Told: fmt.Sprintf("%.4f … %.4f s", m.AwareLeast, m.AwareMost)}}},
		Note: fmt.Sprintf("P %.2f µs to process a strip, M %.2f µs to move it, %d requests of %d strips, %d CPUs. Measured: %.0f MB/s with %.0f %% of the CPUs.",
			m.Strip*1e6, m.Move*1e6, m.Requests, m.Servers, m.Cores, r.MBs, r.CPUPercent)}}
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
