// Package activity finds when a busy program does not run: it reads the CPU's
// counter without pause and takes each pause that happens all the same for an
// interruption, as part A of the course report does. It separates the timer's
// ticks from the rest and estimates the frequency of counter and core.
//
// It makes no scheduling call; whoever starts it places it. Start at Run.
package activity

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"piton/internal/chart"
	"piton/workloads/internal/cycle"
)

// Limits of Options.
const (
	MinMs = 20
	MaxMs = 600_000
)

// warmup is spun first and not counted: the core reaches its frequency and the
// Go runtime comes to rest.
const warmup = 40 * time.Millisecond

// Sizes. A machine with more interruptions is measured for a shorter time.
const (
	maxGaps = 1 << 18
	maxKept = 4000 // intervals in the Result
)

// Counter says what to read.
type Counter string

// The counters.
const (
	Auto  Counter = "auto"  // the CPU's, where it has a steady one
	Clock Counter = "clock" // CLOCK_MONOTONIC
)

// Counters lists them.
var Counters = []Counter{Auto, Clock}

// Options is the work to do.
type Options struct {
	Ms      int     `json:"ms"` // how long
	Counter Counter `json:"counter"`
}

// Result is what came out. Times are seconds where the name says no other unit.
type Result struct {
	Options
	Source    string  `json:"source"`     // "tsc", "cntvct" or "clock"
	CounterHz float64 `json:"counter_hz"` // compared with CLOCK_MONOTONIC over the whole time
	CoreHz    float64 `json:"core_hz"`    // by additions of one cycle each; 0 = not known
	// LoopNs is the time between two readings, ThresholdNs that from which on one
	// counts as inactive, and Stable whether the figures no longer depended on it.
	LoopNs      float64 `json:"loop_ns"`
	ThresholdNs float64 `json:"threshold_ns"`
	Stable      bool    `json:"threshold_stable"`

	Observed     float64 `json:"observed_s"`
	Lost         float64 `json:"lost_s"`
	Share        float64 `json:"lost_share"` // of Observed, 0..1
	Gaps         int     `json:"gaps"`
	LongestNs    float64 `json:"longest_ns"`
	MeanActiveNs float64 `json:"mean_active_ns"` // from one interruption to the next

	Tick  Tick  `json:"tick"`
	Other Other `json:"other"`

	CPUs       []int `json:"cpus"` // that it was seen on, none where the counter does not tell
	Migrations int   `json:"migrations"`
	// Intervals are the inactive ones in order, cut off at 4000.
	Intervals []Interval `json:"intervals"`
	// Occupants are what else ran on the CPUs, filled in by the caller; or Unnamed says
	// why it could not. "culprits" is their name in the results of piton 0.1.
	Occupants []Occupant `json:"culprits,omitempty"`
	Unnamed   string     `json:"unnamed,omitempty"`
}

// Tick is the interruptions that come at one period: the timer's.
type Tick struct {
	Found    bool    `json:"found"`
	PeriodNs float64 `json:"period_ns"`
	Hz       float64 `json:"hz"`
	Count    int     `json:"count"`
	Missing  int     `json:"missing"` // periods without one, though the program ran then
	Lost     float64 `json:"lost_s"`
	MedianNs float64 `json:"median_ns"`
	// Strength is the share of those periods that have one.
	Strength float64 `json:"strength"`
}

// Other is the interruptions that do not.
type Other struct {
	Count     int     `json:"count"`
	Lost      float64 `json:"lost_s"`
	LongestNs float64 `json:"longest_ns"`
	MedianNs  float64 `json:"median_ns"`
}

// Interval is an inactive one: its start from the beginning and its length in
// ns, and 1 if it is a tick.
type Interval [3]int64

// Occupant is a task, interrupt or softirq that ran on the CPUs meanwhile.
type Occupant struct {
	Kind      string  `json:"kind"` // "task", "irq", "softirq"
	Name      string  `json:"name"`
	ID        int     `json:"id"` // tid, interrupt number or vector
	CPU       int     `json:"cpu"`
	Seconds   float64 `json:"seconds"`
	LongestNs float64 `json:"longest_ns"`
	Times     uint64  `json:"times"`
}

// Run spins. It fails when ctx ends, and when what it wrote down cannot be:
// intervals out of order, or a counter that does not run with the clock. It does not
// check the options; their limits are checked by workload.Param. The garbage
// collector is off meanwhile, and the goroutine has an OS thread to itself.
func Run(ctx context.Context, o Options) (Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	counter := cycle.Coarse()
	if o.Counter == Auto {
		counter = cycle.Best(10 * time.Millisecond)
	}
	s, err := spin(ctx, counter, time.Duration(o.Ms)*time.Millisecond)
	if err != nil {
		return Result{}, err
	}
	r := Result{Options: o, Source: string(counter.Source), CounterHz: s.hz, CoreHz: counter.CoreHz(), LoopNs: s.loopNs, Observed: s.observed}
	r.judge(s.gaps)
	r.follow(s)
	return r, s.check(counter.Hz)
}

// gap is an inactive interval in ns from the beginning.
type gap struct {
	start, length float64
	cpu           int64
	tick          bool
}

type spun struct {
	gaps     []gap // longer than the floor, in order
	hz       float64
	loopNs   float64
	observed float64 // seconds
	cpu      int64   // at the end
}

// floor is how many times the usual time between two readings a pause has to be
// to be written down.
const floor = 3

func spin(ctx context.Context, c cycle.Counter, d time.Duration) (spun, error) {
	buf := make([]cycle.Gap, maxGaps)
	for i := range buf {
		buf[i].CPU = -1 // touched now, and not in the loop
	}
	loop := usual(c)
	begin, beginClock := c.Both()
	from := begin + c.Ticks(warmup)
	n, end := c.Gaps(ctx, buf, floor*loop, from+c.Ticks(d))
	after, afterClock := c.Both()
	if err := ctx.Err(); err != nil {
		return spun{}, fmt.Errorf("watch for interruptions: %w", err)
	}
	if end <= from {
		return spun{}, fmt.Errorf("more than %d interruptions in %v: the counter is too coarse", maxGaps, warmup)
	}
	s := spun{observed: c.Seconds(end - from), cpu: int64(c.CPU())}
	s.hz = float64(after-begin) / afterClock.Sub(beginClock).Seconds()
	s.loopNs = c.Seconds(loop) * 1e9
	for _, g := range buf[:n] {
		if g.Start >= from {
			s.gaps = append(s.gaps, gap{start: c.Seconds(g.Start-from) * 1e9, length: c.Seconds(g.End-g.Start) * 1e9, cpu: g.CPU})
		}
	}
	return s, nil
}

// enough readings give their usual time.
const enough = 16

// usual is the median time between two readings, at least 1. A thread that loses its CPU
// before the first of them has none within the 10 ms, and looks again.
func usual(c cycle.Counter) uint64 {
	buf := make([]cycle.Gap, 2048)
	var lengths []uint64
	for try := 0; try < 100 && len(lengths) < enough; try++ {
		n, _ := c.Gaps(context.Background(), buf, 0, c.Now()+c.Ticks(10*time.Millisecond))
		for _, g := range buf[n/4 : n] {
			lengths = append(lengths, g.End-g.Start)
		}
	}
	if len(lengths) == 0 {
		return 1
	}
	slices.Sort(lengths)
	return max(lengths[len(lengths)/2], 1)
}

func (r *Result) judge(all []gap) {
	r.ThresholdNs, r.Stable = threshold(all, floor*r.LoopNs)
	var gaps []gap
	for _, g := range all {
		if g.length >= r.ThresholdNs {
			gaps = append(gaps, g)
		}
	}
	r.Tick = findTick(gaps, r.Observed*1e9)
	var others []float64
	for _, g := range gaps {
		r.Lost += g.length / 1e9
		r.LongestNs = max(r.LongestNs, g.length)
		mark := int64(0)
		if g.tick {
			mark = 1
		} else {
			others = append(others, g.length)
			r.Other.Lost += g.length / 1e9
			r.Other.LongestNs = max(r.Other.LongestNs, g.length)
		}
		if len(r.Intervals) < maxKept {
			r.Intervals = append(r.Intervals, Interval{int64(g.start), int64(g.length), mark})
		}
	}
	r.Gaps, r.Other.Count, r.Other.MedianNs = len(gaps), len(others), chart.Middle(others)
	r.Share = r.Lost / r.Observed
	r.MeanActiveNs = (r.Observed - r.Lost) * 1e9 / float64(len(gaps)+1)
}

func (r *Result) follow(s spun) {
	last := int64(-1)
	for _, g := range append(slices.Clone(s.gaps), gap{cpu: s.cpu}) {
		if g.cpu < 0 {
			continue
		}
		if last >= 0 && g.cpu != last {
			r.Migrations++
		}
		if last = g.cpu; !slices.Contains(r.CPUs, int(last)) {
			r.CPUs = append(r.CPUs, int(last))
		}
	}
}

// steady is how much the counter's rate over the whole time may differ from that
// in the 10 ms before. NTP slews the clock by 0.05 % at most, and counter and
// clock are read within a µs of each other.
const steady = 0.005

// check compares what was written down with what must be so.
func (s spun) check(hz float64) error {
	if off := math.Abs(s.hz/hz - 1); !(off <= steady) {
		return fmt.Errorf("the counter ran at %.0f Hz and then at %.0f: it is no clock", hz, s.hz)
	}
	at := 0.0
	for _, g := range s.gaps {
		if g.start < at-1 || g.length <= 0 || g.start+g.length > s.observed*1e9+1 {
			return fmt.Errorf("an interruption of %.0f ns begins at %.0f ns, where the one before ends at %.0f of %.0f ns", g.length, g.start, at, s.observed*1e9)
		}
		at = g.start + g.length
	}
	return nil
}
