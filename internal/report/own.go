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
	l := chart.Lines{X: "memory used", Y: "time per load", Unit: "ns", LogX: true, LogY: true, XFormat: func(v float64) string { return memlat.Size(int64(v)) }}
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
			note += level.Name + " " + chart.Quantity(level.Ns, "ns")
			if level.Cycles > 0 {
				note += fmt.Sprintf(" (%s cycles)", chart.Digits(level.Cycles))
			}
			note += ". "
		}
	}
	for _, c := range r.Caches {
		l.Marks = append(l.Marks, chart.Mark{X: float64(c.Bytes), Name: fmt.Sprintf("L%d", c.Level)})
	}
	return []chart.Figure{{Title: "Latency by size", Plot: l, Note: note}}
}

// barRows is how many rows the timeline of activity takes.
const barRows = 6

// activityFigures are a timeline in rows, as long as single ticks can be seen in
// it, and the CPU time of others.
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
	note := fmt.Sprintf("%s of %s lost in %d interruptions, the longest %s; counter %s at %.1f MHz.", chart.Percent(r.Share),
		chart.Quantity(r.Observed, "s"), r.Gaps, chart.Quantity(r.LongestNs, "ns"), r.Source, r.CounterHz/1e6)
	return []chart.Figure{{Title: "Active and inactive intervals", Plot: s, Note: note}, otherTime(r)}
}

// otherTime is the CPU time of tasks and interrupts other than the workload.
func otherTime(r activity.Result) chart.Figure {
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

func ctxswitchFigures(r ctxswitch.Result) []chart.Figure {
	switch {
	case r.Turn != nil:
		return []chart.Figure{timeslices(r.Turn)}
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

func timeslices(t *ctxswitch.Turn) chart.Figure {
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
	us := func(v float64) string { return chart.Quantity(v, "µs") }
	return chart.Figure{Title: "Timeslices", Plot: s, Note: fmt.Sprintf("%d timeslices of %s on average, median %s; %d hand-overs, median %s, least %s.",
		t.Turns, us(t.MeanTurnUs), us(t.MedianTurnUs), t.Handovers, us(t.HandoverUs), us(t.BestUs))}
}

func chatFigures(r chat.Result) []chart.Figure {
	b := chart.Bars{Unit: "s", Legend: []string{"CPU time: user, and lighter system"}}
	for i, u := range r.Processes {
		label := fmt.Sprintf("%s %d", u.Role, i/2)
		if u.CPUs != "" {
			label += " on CPU " + u.CPUs
		}
		b.Bars = append(b.Bars, chart.Bar{Label: label, Value: u.UserSeconds, UpTo: u.UserSeconds + u.SystemSeconds,
			Caption: fmt.Sprintf("%s, %d switches", chart.Quantity(u.UserSeconds+u.SystemSeconds, "s"), u.Voluntary+u.Involuntary)})
	}
	return []chart.Figure{{Title: "CPU time of the processes", Plot: b, Note: fmt.Sprintf("%s. %s %s", chart.Quantity(r.PerS, "messages/s"), r.Aggregation, r.Why)}}
}

func stripioFigures(r stripio.Result) []chart.Figure {
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
