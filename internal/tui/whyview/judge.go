package whyview

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/why"
)

// figures are those of a span that a change is judged by; NaN where there was nothing to measure.
type figures struct {
	began, ended time.Time
	of           [len(metrics)]float64
}

// metrics are what a change is judged by: the waits' percentiles in seconds, and the time waited in
// ms a second of a thread. Files tell the last one only.
var metrics = [...]struct {
	name, unit string
	of         func(a *why.Answer) float64
}{
	{"p50", "s", func(a *why.Answer) float64 { return quantile(a, 0.5) }},
	{"p99", "s", func(a *why.Answer) float64 { return quantile(a, 0.99) }},
	{"waiting", "ms/s", func(a *why.Answer) float64 { return 1000 * a.PerThread(a.Waited) }},
}

func quantile(a *why.Answer, q float64) float64 {
	waits := a.Waits()
	if waits.Count() == 0 {
		return math.NaN()
	}
	return waits.Quantile(q, a.Observation.Longest.Time).Seconds()
}

func figuresOf(s *span) figures {
	f := figures{began: s.began(), ended: s.ended}
	for i, m := range metrics {
		f.of[i] = m.of(&why.Answer{Observation: s.Observation})
	}
	return f
}

// enough is how many spans before a change, at most, and after it are compared, leastBefore how many
// there must be before. The number is fixed: who looks again and again finds a difference some day.
const (
	enough      = 20
	leastBefore = 5
)

// trial compares what was seen before a change with what came after it.
type trial struct {
	what   string
	at     time.Time
	before []figures
	after  []figures
	said   [len(metrics)]string // the verdict on each, once there are enough
}

// follow begins the trial of a change at a time. What is before it begins after the last trial's change.
func (t *trial) follow(what string, at time.Time, seen []figures) *trial {
	if t != nil {
		seen = since(seen, t.at)
	}
	return &trial{what: what, at: at, before: last(seen, enough)}
}

// since are the spans that began after a time.
func since(seen []figures, at time.Time) []figures {
	i := slices.IndexFunc(seen, func(f figures) bool { return !f.began.Before(at) })
	if i < 0 {
		return nil
	}
	return seen[i:]
}

// look takes the spans that began after the change, as many as are compared.
func (t *trial) look(seen []figures) {
	if len(t.after) == enough {
		return
	}
	t.after = since(seen, t.at)
	if t.after = t.after[:min(len(t.after), enough)]; len(t.after) == enough {
		t.judge()
	}
}

func (t *trial) judge() {
	for i := range metrics {
		t.said[i] = t.verdict(i)
	}
}

// values are those of a metric.
func values(of []figures, metric int) (out []float64) {
	for _, f := range of {
		if v := f.of[metric]; !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// binWidth is how much longer a bin's longest wait is than its shortest: less is no difference.
const binWidth = 0.25

// verdict is the judge's, as of a study of a live process with a period before and one after.
func (t *trial) verdict(metric int) string {
	m := metrics[metric]
	r := bench.Results{Study: bench.Study{Workload: bench.AttachWorkload, Figure: bench.Figure{Pattern: m.name, Unit: m.unit}}}
	for i, of := range [][]figures{t.before, t.after} {
		name := bench.Placement([]string{"before", "after"}[i])
		r.Study.Placements = append(r.Study.Placements, name)
		for n, v := range values(of, metric) {
			r.Runs = append(r.Runs, bench.RunResult{Workload: bench.AttachWorkload, Placement: name, Index: n, Metric: v})
		}
	}
	c := bench.Judge(r).Comparisons[0]
	switch {
	case c.Unjudged != "" || len(t.before) < leastBefore:
		return "too few seconds to judge"
	case c.Different:
		return strings.NewReplacer(" "+m.name+", better", "", " "+m.name+", worse", "", " "+m.name, "").Replace(c.Verdict)
	case bench.Conclusive(c.Visible):
		return "no difference ±" + chart.Percent(max(c.Bound(), binWidth))
	case c.Visible > 1:
		return "not enough evidence: it varies too much"
	}
	return "not enough evidence (under " + chart.Percent(max(c.Visible, binWidth)) + " is not seen)"
}

// lines says how far it is, then the figures before and after, each with its verdict.
func (t *trial) lines() (head string, segments []string) {
	head = fmt.Sprintf("before | after, %d of %d s", len(t.after), enough)
	if len(t.after) == enough {
		head = "before | after"
	}
	for i, m := range metrics {
		before, after := values(t.before, i), values(t.after, i)
		if len(before)+len(after) == 0 {
			continue
		}
		text := m.name + " " + middle(before, m.unit) + " | " + middle(after, m.unit)
		if t.said[i] != "" {
			text += ": " + t.said[i]
		}
		segments = append(segments, text)
	}
	return head, segments
}

func middle(of []float64, unit string) string {
	if len(of) == 0 {
		return why.None
	}
	return chart.Quantity(chart.Middle(of), unit)
}
