package search

import (
	"math"

	"piton/internal/bench/stats"
	"piton/internal/chart"
)

const (
	// alarmAt is the sum of standardized losses that raises an alarm.
	alarmAt = 8.0
	// slack is taken off each loss, in standard deviations of a pair: a CUSUM is quickest
	// to find a shift of twice its slack (Page, 1954). Never less than half of shift.
	slack = 0.5
	// shift is the loss worth a new confirmation, log ratio: 10 %.
	shift = 0.105
	// clip bounds what one pair can add, after the slack: an alarm takes four pairs or more.
	clip = 2.5
	// learnPairs is how many pairs the reference is learned from, at least.
	learnPairs = 20
	// firstPause is the number of pairs without an alarm after a first alarm. It doubles
	// with each alarm, to longestPause, and starts again after four pauses in peace.
	firstPause   = 16
	longestPause = 1024
	// smallestSD keeps the scale of very quiet pairs from seeing drift in a thousandth.
	smallestSD = 0.01
)

// Drift watches whether a placement that was kept is still as good, against the default,
// as when it was confirmed: a one-sided CUSUM on log ratios of chosen and default,
// measured in pairs. An alarm is reason for a new confirmation (Run with two candidates),
// never for a move.
type Drift struct {
	pairs         []float64 // the reference, while it is learned
	center, scale float64
	sum           float64
	since, pause  int // pairs since the last alarm; pairs without an alarm after it
}

// NewDrift starts from the fresh pairs that confirmed the choice, Result.Pairs.
func NewDrift(pairs []float64) *Drift {
	d := &Drift{}
	d.Relearn(pairs)
	return d
}

// Relearn takes the pairs of a new confirmation, which kept the choice, as reference.
// The pause between alarms stays.
func (d *Drift) Relearn(pairs []float64) {
	d.pairs, d.sum = append([]float64(nil), pairs...), 0
	d.learn()
}

// learn sets center and scale. Few pairs underestimate both the scale and what the
// center can be off by; the scale grows for that.
func (d *Drift) learn() {
	d.center, d.scale = 0, smallestSD
	if len(d.pairs) == 0 {
		return
	}
	d.center, _, _, _ = stats.Center(d.pairs, 0.95)
	sizes := make([]float64, len(d.pairs))
	for i, p := range d.pairs {
		sizes[i] = math.Abs(p - d.center)
	}
	n := float64(len(d.pairs))
	d.scale = max(1.4826*chart.Middle(sizes)*(1+3/n), smallestSD)
}

// Add takes the rates of one pair and reports whether there is an alarm.
func (d *Drift) Add(chosen, base float64) (alarm bool) {
	x := LogRatio(chosen, base)
	k := max(slack, shift/2/d.scale)
	d.sum = max(0, d.sum+min((d.center-x)/d.scale-k, clip))
	d.since++
	if len(d.pairs) < learnPairs && d.sum == 0 { // pairs that look like a loss teach nothing
		d.pairs = append(d.pairs, x)
		d.learn()
	}
	if d.pause > firstPause && d.since > 4*d.pause {
		d.pause = firstPause
	}
	if d.sum < alarmAt || d.since <= d.pause {
		return false
	}
	d.sum, d.since = 0, 0
	d.pause = min(max(2*d.pause, firstPause), longestPause)
	return true
}

// Level is how near an alarm is, 0 to 1: for a screen.
func (d *Drift) Level() float64 { return min(d.sum/alarmAt, 1) }
