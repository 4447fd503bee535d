package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"piton/internal/model"
	"piton/internal/pattern"
)

// Trigger is a rule's when: a rate of the process that is above a limit for a time.
type Trigger struct {
	Metric string        // a key of metrics
	Limit  float32       // in the metric's unit
	For    time.Duration // 0: one reading is enough
}

// metrics are the rates that a trigger can be about, of a process with all of its
// threads. They are the figures of the columns in the comments.
var metrics = map[string]func(*model.Task) float32{
	"pingpong":   func(t *model.Task) float32 { return t.PingPongPerS }, // PINGPONG/s: moves back within 100 ms, a second; eBPF only
	"migrations": func(t *model.Task) float32 { return t.MigPerS },      // MIG/s
	"delay":      func(t *model.Task) float32 { return t.DelayPercent }, // DELAY: percent of the time runnable but not running
}

// maxFor is the longest time of a trigger.
const maxFor = time.Hour

var triggerForm = pattern.Whole(`\s*([a-z]+)\s*>\s*([0-9]+(?:\.[0-9]+)?)(?:\s+for\s+([0-9a-zµ.]+))?\s*`)

// parseTrigger reads "pingpong > 50 for 10s".
func parseTrigger(text string) (*Trigger, error) {
	m := triggerForm().FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New(`it must be of the form "pingpong > 50 for 10s"`)
	}
	t := &Trigger{Metric: m[1]}
	if metrics[t.Metric] == nil {
		return nil, fmt.Errorf("there is no rate %q: use pingpong, migrations (both per second) or delay (percent)", t.Metric)
	}
	limit, err := strconv.ParseFloat(m[2], 32)
	if err != nil || limit < 0.1 || limit > 1e9 {
		return nil, fmt.Errorf("the limit %s is out of range: 0.1 to 1000000000", m[2])
	}
	t.Limit = float32(limit)
	if m[3] == "" {
		return t, nil
	}
	if t.For, err = time.ParseDuration(m[3]); err != nil {
		return nil, fmt.Errorf("%q is no time such as 10s", m[3])
	}
	if t.For < 0 || t.For > maxFor {
		return nil, fmt.Errorf("the time %v is out of range: 0s to %v", t.For, maxFor)
	}
	return t, nil
}

// String is the trigger as a file has it.
func (t *Trigger) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s > %s", t.Metric, strconv.FormatFloat(float64(t.Limit), 'f', -1, 32))
	if t.For > 0 {
		fmt.Fprintf(&b, " for %v", t.For)
	}
	return b.String()
}

// watch is what a trigger has seen of one process.
type watch struct {
	above bool          // the rate is above the limit,
	since time.Duration // from this reading on
	fired bool          // and not below half the limit since
}

// see takes in a reading and reports whether the rule is to be applied now. An unknown
// rate is no evidence: the time begins again.
func (w *watch) see(t *Trigger, rate float32, now time.Duration) bool {
	switch {
	case !model.Known(rate):
		w.above = false
		return false
	case w.fired:
		w.fired = rate >= t.Limit/2
		return false
	case rate <= t.Limit:
		w.above = false
		return false
	case !w.above:
		w.above, w.since = true, now
	}
	w.fired = now-w.since >= t.For
	w.above = !w.fired
	return w.fired
}
