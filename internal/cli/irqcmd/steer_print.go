package irqcmd

import (
	"context"
	"fmt"
	"time"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/procfs"
)

// steerEnd prints how packets are steered, and is what the last line has of it.
type steerEnd struct {
	app      *app.App
	json     bool
	steering *action.Steering
	then     action.Seen // what was seen last
	done     bool        // packets were steered, and looked at
	verdict  *bench.Comparison
	err      error
}

func (e *steerEnd) line(name, format string, args ...any) {
	if !e.json {
		fmt.Fprintf(e.app, "%-11s %s\n", name, fmt.Sprintf(format, args...))
	}
}

// before says what was seen, which way was chosen, and why no better one.
func (e *steerEnd) before() {
	s := e.steering
	e.line("before", "%s read%s", field.Bytes(s.Before.Bytes), near(&s.Before.Locality))
	for _, m := range s.Missed {
		e.line(string(m.Way), "not to be had: %s", m.Why)
	}
	if s.Way == "" {
		e.line("nothing", "%s", s.Why)
		return
	}
	e.line(string(s.Way), "chosen for %s; it costs %s", s.Policy, s.Cost)
}

// after says what is seen while packets are steered.
func (e *steerEnd) after(seen action.Seen) {
	e.then, e.done = seen, true
	for _, note := range e.steering.Notes {
		e.line("how", "%s", note)
	}
	e.line("steered", "%s read%s", field.Bytes(seen.Bytes), near(&seen.Locality))
	if e.steering.Policy == action.PolicyApart && seen.SameCPU > seen.Placed/2 {
		e.app.Warn("the scheduler wakes the readers where their packets are handled; pinned, they stay apart (piton pin)")
	}
}

// try compares.
func (e *steerEnd) try(ctx context.Context, within time.Duration) error {
	metric, err := auto.OpenMetric(ctx, procfs.New(e.app.HostRoot), numbers(e.steering.Targets), steerRate)
	if err != nil {
		return err
	}
	defer metric.Close()
	report, err := e.steering.Try(ctx, within, steerRate, metric.Read)
	if err != nil {
		return err
	}
	e.verdict = &report.Comparisons[0]
	off, on := e.verdict.Base, e.verdict.Other
	e.line("tried", "%s: %s not steered, %s steered", chart.Plural(off.Runs, "pair"), report.Metric.Format(off.Median), report.Metric.Format(on.Median))
	e.line("verdict", "%s", e.verdict.Verdict)
	for _, w := range append(report.Warnings, e.verdict.Warnings...) {
		e.app.Warn("%s", w)
	}
	return nil
}

// end prints the last line.
func (e *steerEnd) end(err error) error {
	if e.err = err; !e.json {
		switch {
		case err == nil && e.steering.Ended:
			e.line("ended", "the processes have ended; everything is as it was before")
		case err == nil && e.did():
			e.line("ended", "everything is as it was before")
		}
		return err
	}
	l := &flowLog{a: e.app, topo: e.steering.Topology, json: true, pids: numbers(e.steering.Targets), fs: irq.New(e.app.HostRoot),
		sockets: map[uint64]bool{}, byVia: map[irq.Via]uint64{}, steered: e, code: exit.Code(err)}
	if _, _, takeErr := l.take(e.then.Flows); err == nil {
		err = takeErr
	}
	l.end()
	return err
}

// unsteered is where flows were only shown.
func unsteered() *steerEnd {
	return &steerEnd{steering: &action.Steering{SteerAsk: action.SteerAsk{Policy: "kernel"}}}
}

// did reports whether packets were steered.
func (e *steerEnd) did() bool { return e.done || e.verdict != nil }

func (e *steerEnd) text() string {
	if e.verdict == nil {
		return ""
	}
	return e.verdict.Verdict
}

// rate is the median rate of one side of a comparison.
func (e *steerEnd) rate(arm int) any {
	if e.verdict == nil {
		return nil
	}
	return [...]bench.Arm{e.verdict.Base, e.verdict.Other}[arm].Median
}

func (e *steerEnd) failure() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
