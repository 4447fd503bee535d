package auto

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"piton/internal/bench"
	"piton/internal/pattern"
)

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
