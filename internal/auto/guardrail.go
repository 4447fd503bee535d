package auto

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/chart"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

const (
	// otherShare is how much of its rate another process must keep,
	otherShare = 0.9
	// otherPeriods in as many periods of a candidate, on their median: one period is noise.
	otherPeriods = 3
)

// Guardrail is what a candidate must not hurt. The zero value is not for use.
type Guardrail struct {
	text  string
	path  string // of a file with a number, "" for another process
	above bool   // the number must be above the limit, not below
	limit float64
	other kernel.TID

	metric *Metric // of the other process
	rates  map[int][]float64
	began  time.Time
	before float64
}

// ParseGuardrail reads "other=PID", and "file:PATH<NUMBER" or "file:PATH>NUMBER".
func ParseGuardrail(text string) (*Guardrail, error) {
	bad := fmt.Errorf("it must be other=PID, file:PATH<NUMBER or file:PATH>NUMBER, not %q", text)
	if word, ok := strings.CutPrefix(text, "other="); ok {
		pid, err := strconv.Atoi(word)
		if err != nil || pid <= 0 {
			return nil, bad
		}
		return &Guardrail{text: text, other: kernel.TID(pid), rates: map[int][]float64{}}, nil
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

func (g *Guardrail) String() string { return g.text }

// Open begins to measure.
func (g *Guardrail) Open(ctx context.Context, p procfs.FS) (err error) {
	if g.other == 0 {
		_, err = runner.ReadNumber(g.path)
		return err
	}
	g.metric, err = OpenMetric(ctx, p, []kernel.TID{g.other}, "")
	return err
}

// Close ends that.
func (g *Guardrail) Close() {
	if g.metric != nil {
		g.metric.Close()
	}
}

// start begins a period.
func (g *Guardrail) start() (err error) {
	if g.metric == nil {
		return nil
	}
	g.began = time.Now()
	g.before, err = g.metric.Read()
	return err
}

// violated ends a period of a candidate, and reports whether that hurts it.
func (g *Guardrail) violated(candidate int) (bool, error) {
	if g.metric == nil {
		v, err := runner.ReadNumber(g.path)
		return g.above && v <= g.limit || !g.above && v >= g.limit, err
	}
	after, err := g.metric.Read()
	if err != nil {
		return false, err
	}
	return g.add(candidate, (after-g.before)/time.Since(g.began).Seconds()), nil
}

// add notes a rate of the other process, and reports whether the candidate hurts it.
func (g *Guardrail) add(candidate int, rate float64) bool {
	g.rates[candidate] = append(g.rates[candidate], rate)
	its, usual := g.rates[candidate], g.rates[0]
	if candidate == 0 || len(its) < otherPeriods || len(usual) < otherPeriods {
		return false
	}
	return chart.Middle(slices.Clone(its[len(its)-otherPeriods:])) < otherShare*chart.Middle(slices.Clone(usual))
}
