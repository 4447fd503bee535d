package auto

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/bpf"
	"piton/internal/chart"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

const (
	// otherShare is how much of its rate another process must keep.
	otherShare = 0.9
	// otherPeriods are as many periods of a candidate by whose median it is judged: one
	// period is noise.
	otherPeriods = 3
)

// Guardrail is what a candidate must not hurt. The zero value is not for use.
type Guardrail struct {
	text    string
	path    string // of a file with a number, "" for another process
	above   bool   // the number must be above the limit, not below
	limit   float64
	other   kernel.TID
	share   float64 // of the waits for a CPU that must be shorter than longest; 0 for what is above
	longest time.Duration

	span    string            // a rate of the placed processes that is to be below limit; "" for what is above
	metric  *Metric           // of the other process, or of span
	rates   map[int][]float64 // by candidate; of waits, ns
	started Span

	waits *bpf.Work
	sums  bpf.WorkSums // as the period began
}

// ParseGuardrail reads "p99<5ms", "wait-p99<5ms", "wait-share<10%", "other=PID", and
// "file:PATH<NUMBER" or "file:PATH>NUMBER".
func ParseGuardrail(text string) (*Guardrail, error) {
	bad := fmt.Errorf("it must be p99<TIME, wait-p50<TIME, wait-p99<TIME, wait-share<PERCENT%%, other=PID, file:PATH<NUMBER or file:PATH>NUMBER, not %q", text)
	if name, limit, ok := strings.Cut(text, "<"); ok {
		if rate, ok := runner.SpanRate(name); ok {
			most, ok := parseLimit(limit, rate.Unit)
			if !ok {
				return nil, bad
			}
			return &Guardrail{text: text, span: name, limit: most, rates: map[int][]float64{}}, nil
		}
	}
	if percent, limit, ok := strings.Cut(text, "<"); ok && !strings.HasPrefix(text, "file:") {
		share, err := strconv.ParseFloat(strings.TrimPrefix(percent, "p"), 64)
		longest, late := time.ParseDuration(limit)
		if err != nil || late != nil || !strings.HasPrefix(percent, "p") || !(share > 0 && share <= 100) || longest <= 0 {
			return nil, bad
		}
		return &Guardrail{text: text, share: share / 100, longest: longest, rates: map[int][]float64{}}, nil
	}
	if word, ok := strings.CutPrefix(text, "other="); ok {
		pid, ok := kernel.ParseTID(word)
		if !ok {
			return nil, bad
		}
		return &Guardrail{text: text, other: pid, rates: map[int][]float64{}}, nil
	}
	rest, ok := strings.CutPrefix(text, "file:")
	i := strings.LastIndexAny(rest, "<>")
	if !ok || i < 1 {
		return nil, bad
	}
	limit, err := strconv.ParseFloat(rest[i+1:], 64)
	if err != nil || limit != limit {
		return nil, bad
	}
	return &Guardrail{text: text, path: rest[:i], above: rest[i] == '>', limit: limit}, nil
}

// parseLimit reads a limit above 0 of a figure in percent or ms.
func parseLimit(text, unit string) (limit float64, ok bool) {
	if unit == "%" {
		number, percent := strings.CutSuffix(text, "%")
		limit, ok = bench.ParseNumber(number)
		return limit, ok && percent && limit > 0 && limit <= 100
	}
	d, err := time.ParseDuration(text)
	return d.Seconds() * 1e3, err == nil && d > 0
}

func (g *Guardrail) String() string { return g.text }

// Open begins to measure; pids are the processes that are placed.
func (g *Guardrail) Open(ctx context.Context, p procfs.FS, pids []kernel.TID) (err error) {
	switch {
	case g.share > 0:
		g.waits, err = bpf.OpenWork(bpf.WorkWaits, pids...)
	case g.span != "":
		g.metric, err = openMetric(p, pids, g.span, "")
	case g.other != 0:
		g.metric, err = OpenMetric(ctx, p, []kernel.TID{g.other}, "")
	default:
		_, err = runner.ReadNumber(g.path)
	}
	return err
}

// Close ends that.
func (g *Guardrail) Close() {
	if g.metric != nil {
		g.metric.Close()
	}
	if g.waits != nil {
		g.waits.Close()
	}
}

// start begins a period.
func (g *Guardrail) start() (err error) {
	if g.waits != nil {
		g.sums, err = g.waits.Read()
	}
	if g.metric == nil {
		return err
	}
	g.started, err = g.metric.Begin()
	return err
}

// violated ends a period of a candidate, and reports whether that hurts it.
func (g *Guardrail) violated(candidate int) (bool, error) {
	if g.waits != nil {
		now, err := g.waits.Read()
		return g.exceeds(candidate, float64(now.Wait(&g.sums, g.share)), float64(g.longest)), err
	}
	if g.metric == nil {
		v, err := runner.ReadNumber(g.path)
		return g.above && v <= g.limit || !g.above && v >= g.limit, err
	}
	figure, err := g.metric.End(g.started)
	switch {
	case err != nil:
		return false, err
	case g.span != "":
		return g.exceeds(candidate, figure, g.limit), nil
	}
	return g.add(candidate, figure), nil
}

// exceeds notes a figure of a period, and reports whether the candidate is above the limit.
func (g *Guardrail) exceeds(candidate int, figure, limit float64) bool {
	its := append(g.rates[candidate], figure)
	g.rates[candidate] = its
	return candidate != 0 && len(its) >= otherPeriods && latest(its) > limit
}

// latest is the median of the latest periods.
func latest(all []float64) float64 {
	return chart.Middle(slices.Clone(all[len(all)-otherPeriods:]))
}

// add notes a rate of the other process, and reports whether the candidate hurts it.
func (g *Guardrail) add(candidate int, rate float64) bool {
	g.rates[candidate] = append(g.rates[candidate], rate)
	its, usual := g.rates[candidate], g.rates[0]
	if candidate == 0 || len(its) < otherPeriods || len(usual) < otherPeriods {
		return false
	}
	return latest(its) < otherShare*chart.Middle(slices.Clone(usual))
}
