package auto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/kernel"
	"piton/internal/pattern"
	"piton/internal/procfs"
	"piton/internal/watch"
)

// Metric is what a placement is judged by: a figure of the processes, added up, that only
// grows, and is better the faster it does; or one of a span of time, which is better the less it is.
type Metric struct {
	rate  runner.Rate
	meter runner.Meter
	sum   float64
	// Weakness is what the metric does not show, a phrase; empty for one that the user named.
	Weakness string
}

// Grown is by how much a figure has grown since the call before.
type Grown func() (float64, error)

// Grown is part of runner.Meter.
func (g Grown) Grown() (float64, error) { return g() }

// Close is part of runner.Meter.
func (Grown) Close() {}

// Name is the metric's, as the user would write it; where less is better, its reciprocal is what
// placements are judged by.
func (m *Metric) Name() string {
	if !m.rate.Higher {
		return "1/" + m.rate.Name
	}
	return m.rate.Name
}

// Unit is that of what placements are judged by.
func (m *Metric) Unit() string {
	if !m.rate.Higher {
		return "1/" + m.rate.Unit
	}
	return m.rate.Unit
}

// Span is a time for which the figure is asked.
type Span struct {
	began time.Time
	sum   float64
}

// Begin begins a span.
func (m *Metric) Begin() (Span, error) {
	sum, err := m.Read()
	return Span{time.Now(), sum}, err
}

// End is the figure of a span, a rate a second of one that grows. Of a metric of spans, it must be
// the one that began last.
func (m *Metric) End(s Span) (float64, error) {
	now, err := m.Read()
	grown := now - s.sum
	if err == nil && grown < 0 {
		err = errors.New("the metric has shrunk: it must only grow")
	}
	return m.rate.Of(grown, time.Since(s.began).Seconds()), err
}

// merit is what a figure is worth: more of it is better.
func (m *Metric) merit(figure float64) float64 {
	if m.rate.Higher {
		return figure
	}
	return 1 / max(figure, m.rate.Least)
}

// Caveat is a sentence about a metric that was not named; "" for one that was.
func (m *Metric) Caveat() string {
	if m.Weakness == "" {
		return ""
	}
	return fmt.Sprintf("Judged by %s, which was not named: %s.", m.Name(), m.Weakness)
}

// Read is by how much the figure has grown since the metric was opened.
func (m *Metric) Read() (float64, error) {
	grown, err := m.meter.Grown()
	m.sum += grown
	return m.sum, err
}

// Close ends it.
func (m *Metric) Close() { m.meter.Close() }

// unnamed are the metrics that are taken when the user names none, the first that moves.
var unnamed = []struct {
	name, weakness string
	least          float64 // by which it moves in half a period: a rate of less is mostly chance
}{
	{"instructions", "a process that waits in a loop runs more of them, and does no more", 1e5},
	{"bytes", "it counts what is read and written, whatever for", 20},
	{"switches", "each counts as one unit of work, which it need not be", 20},
	{"cpu", "it shows whether the process gets a CPU, not how fast it is there", 2}, // ms
}

// probePeriods is how often a metric that nobody named must have moved.
const probePeriods = 3

// OpenMetric opens the metric that the user named, or with "" the first that moves.
func OpenMetric(ctx context.Context, p procfs.FS, pids []kernel.TID, name string) (*Metric, error) {
	if name != "" {
		return openMetric(p, pids, name, "")
	}
	var why []string
	for _, u := range unnamed {
		m, err := openMetric(p, pids, u.name, u.weakness)
		if err == nil {
			if err = m.moves(ctx, u.least); err == nil {
				return m, nil
			}
			m.Close()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		why = append(why, fmt.Sprintf("%s: %v", u.name, err))
	}
	return nil, fmt.Errorf("process %d has no rate to judge by (%s); name one with --metric", pids[0], strings.Join(why, "; "))
}

// NewMetric is a metric of a figure that no process of its own has.
func NewMetric(name, unit string, of runner.Meter) *Metric {
	return &Metric{rate: runner.Rate{Name: name, Unit: unit, Higher: true}, meter: of}
}

// FindMetric returns an error for the name of what cannot be a metric.
func FindMetric(name string) (runner.Rate, error) {
	rate, err := runner.FindRate(name)
	if err == nil && !rate.Higher && !rate.OfSpan {
		err = fmt.Errorf("metric %s: less of it is better, and a process that does nothing has the least; see wait-share", name)
	}
	return rate, err
}

func openMetric(p procfs.FS, pids []kernel.TID, name, weakness string) (*Metric, error) {
	rate, err := FindMetric(name)
	if err != nil {
		return nil, err
	}
	if rate.OfFile {
		pids = pids[:1]
	}
	meter, err := rate.Open(p, watch.Targets{IDs: pids})
	if err != nil {
		return nil, err
	}
	return &Metric{rate: rate, meter: meter, Weakness: weakness}, nil
}

// moves returns an error unless the figure grows in each of some periods.
func (m *Metric) moves(ctx context.Context, least float64) error {
	for range probePeriods {
		before := m.sum
		if err := runner.Pause(ctx, Period/2); err != nil {
			return err
		}
		after, err := m.Read()
		if err != nil {
			return err
		}
		if after-before < least {
			return fmt.Errorf("%.0f in %v", after-before, Period/2)
		}
	}
	return nil
}

// OutputPrefix begins a metric that is read from what a command writes: "output:REGEXP".
const OutputPrefix = "output:"

// mostOfALine is how many bytes of a line are looked at.
const mostOfALine = 64 << 10

// Output counts in what a program writes: the lines in which its expression is found or,
// if that has a group, the number in it, which grows. A carriage return ends a line as well,
// as programs write that show their progress. It is a Meter of these, and safe for use by
// several goroutines.
type Output struct {
	expr *regexp.Regexp

	mu    sync.Mutex
	line  []byte
	last  float64 // the number in the group
	grown float64 // since the last Grown
	bad   error
}

// ParseOutput reads "output:REGEXP"; without the prefix it returns nil.
func ParseOutput(metric string) (*Output, error) {
	expr, ok := strings.CutPrefix(metric, OutputPrefix)
	if !ok {
		return nil, nil
	}
	re, err := pattern.Compile(expr)
	if err == nil && expr == "" {
		err = errors.New("the regular expression is missing")
	}
	if err == nil && re.NumSubexp() > 1 {
		err = errors.New("it has more than one group; (?:…) is none")
	}
	if err != nil {
		return nil, fmt.Errorf("metric %s: %w", metric, err)
	}
	return &Output{expr: re}, nil
}

// Metric is the metric that it counts.
func (o *Output) Metric() *Metric {
	return NewMetric(OutputPrefix+o.expr.String(), "/s", o)
}

// Write takes a part of the output; it does not fail.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := b; len(rest) > 0; {
		i := bytes.IndexAny(rest, "\r\n")
		if i < 0 {
			o.line = append(o.line, rest[:min(len(rest), mostOfALine-len(o.line))]...)
			break
		}
		o.end(append(o.line, rest[:min(i, mostOfALine-len(o.line))]...))
		o.line, rest = o.line[:0], rest[i+1:]
	}
	return len(b), nil
}

func (o *Output) end(line []byte) {
	found := o.expr.FindSubmatch(line)
	switch {
	case found == nil:
	case len(found) == 1:
		o.grown++
	default:
		v, ok := bench.ParseNumber(string(found[1]))
		if !ok {
			o.bad = fmt.Errorf("%.40q is not a number", found[1])
			return
		}
		o.grown += max(0, v-o.last) // it may begin anew
		o.last = v
	}
}

// Grown is by how much the figure has grown since the call before.
func (o *Output) Grown() (float64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	grown, bad := o.grown, o.bad
	o.grown, o.bad = 0, nil
	return grown, bad
}

// Close does nothing: the program ends when it likes.
func (o *Output) Close() {}
