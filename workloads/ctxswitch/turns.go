package ctxswitch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"piton/internal/chart"
	"piton/workloads/internal/cycle"
)

// Turn is what sharing a CPU looks like from inside. A turn is the time from when
// a process gets the CPU to when another one of them has it, interruptions
// included; a hand-over is the time in between, in which none of them runs. The
// course report called the mean turn "switch time".
type Turn struct {
	WindowMs      float64 `json:"window_ms"` // in which all wanted the CPU
	Turns         int     `json:"turns"`     // whole ones
	MeanTurnUs    float64 `json:"mean_turn_us"`
	MedianTurnUs  float64 `json:"median_turn_us"`
	LongestTurnUs float64 `json:"longest_turn_us"`
	Handovers     int     `json:"handovers"`
	BestUs        float64 `json:"best_handover_us"`
	// HandoverUs is the median of the Direct ones: in those that took more than ten
	// times the least, something else ran in between.
	HandoverUs float64  `json:"handover_us"`
	Direct     int      `json:"direct_handovers"`
	Shares     []Share  `json:"shares"` // by process
	Timeline   []Active `json:"timeline"`
}

// Share is what one process had.
type Share struct {
	Turns int     `json:"turns"`
	Share float64 `json:"share"` // of the window, 0..1
}

// Active is a turn for the picture: the process, and when in ns from the window's
// beginning.
type Active [3]int64

// Sizes.
const (
	maxGaps     = 1 << 16
	maxTimeline = 2000
)

// direct is how many times the least hand-over one may take with nothing between.
const direct = 10

// shortestGap is a time without the CPU that is written down; the loop itself
// takes less, a switch more.
const shortestGap = time.Microsecond

// turns prepares to read the counter for as long as the job says.
func (j job) turns() (func(*report) error, error) {
	c, err := cycle.Like(j.Source, j.Hz)
	if err != nil {
		return nil, err
	}
	buf := make([]cycle.Gap, maxGaps)
	for i := range buf {
		buf[i].CPU = -1 // touched now
	}
	return func(r *report) error {
		begin := c.Now()
		n, end := c.Gaps(context.Background(), buf, c.Ticks(shortestGap), begin+c.Ticks(time.Duration(j.Ms)*time.Millisecond))
		ns := func(reading uint64) int64 { return int64(c.Seconds(reading-j.Base) * 1e9) }
		if n == 0 {
			return fmt.Errorf("process %d had the CPU for %d ms on end", j.Index, j.Ms)
		}
		// Up to the first gap it may have waited where nobody looked at the counter.
		at := buf[0].End
		for _, g := range buf[1:n] {
			r.Spans = append(r.Spans, span{ns(at), ns(g.Start)})
			at = g.End
		}
		r.Spans = append(r.Spans, span{ns(at), ns(end)})
		r.Tokens = 1
		return nil
	}, nil
}

type owned struct {
	span
	process int
}

// overlap is how long two processes may seem to run at once, ns: readings are
// rounded, and the counter need not be read in order with what is around it.
const overlap = 200

// takeTurns puts the processes' spans on one line, after checking that no two ran
// at once.
func (r *Result) takeTurns(reports []report) error {
	var all []owned
	window := span{0, 1<<63 - 1}
	for _, p := range reports {
		if len(p.Spans) == 0 {
			return fmt.Errorf("process %d never ran", p.Index)
		}
		window[0] = max(window[0], p.Spans[0][0])
		window[1] = min(window[1], p.Spans[len(p.Spans)-1][1])
		for _, s := range p.Spans {
			all = append(all, owned{s, p.Index})
		}
		r.Seconds = max(r.Seconds, p.Seconds)
	}
	if window[1] <= window[0] {
		return fmt.Errorf("one process was done before another began: under FIFO none gives way, and otherwise %d ms are too short here", r.Ms)
	}
	slices.SortFunc(all, func(a, b owned) int { return cmp.Compare(a.span[0], b.span[0]) })
	for i, s := range all[1:] {
		if before := all[i]; s.process != before.process && before.span[1]-s.span[0] > overlap {
			return fmt.Errorf("processes %d and %d ran at once for %d ns though they share CPU %d",
				before.process, s.process, before.span[1]-s.span[0], r.CPU)
		}
	}
	turn := newTurn(merge(all, window), window, r.Procs)
	r.Turn, r.Answer = &turn, strconv.Itoa(len(reports))
	return nil
}

// merge joins the spans of a process with no other between, and cuts off what
// is outside the window.
func merge(all []owned, window span) []owned {
	var turns []owned
	for _, s := range all {
		s.span[0], s.span[1] = max(s.span[0], window[0]), min(s.span[1], window[1])
		if s.span[1] <= s.span[0] {
			continue
		}
		if n := len(turns); n > 0 && turns[n-1].process == s.process {
			turns[n-1].span[1] = s.span[1]
			continue
		}
		turns = append(turns, s)
	}
	return turns
}

func newTurn(turns []owned, window span, procs int) Turn {
	t := Turn{WindowMs: float64(window[1]-window[0]) / 1e6, Shares: make([]Share, procs)}
	var lengths, handovers []float64
	for i, s := range turns {
		us := float64(s.span[1]-s.span[0]) / 1e3
		t.Shares[s.process].Turns++
		t.Shares[s.process].Share += us / 1e3 / t.WindowMs
		if i > 0 {
			handovers = append(handovers, float64(s.span[0]-turns[i-1].span[1])/1e3)
		}
		if i > 0 && i < len(turns)-1 { // the window cuts the first and the last
			lengths = append(lengths, us)
			t.MeanTurnUs += us
			t.LongestTurnUs = max(t.LongestTurnUs, us)
		}
		if len(t.Timeline) < maxTimeline {
			t.Timeline = append(t.Timeline, Active{int64(s.process), s.span[0] - window[0], s.span[1] - window[0]})
		}
	}
	t.Turns, t.Handovers = len(lengths), len(handovers)
	t.MeanTurnUs /= float64(max(len(lengths), 1))
	t.MedianTurnUs = chart.Middle(lengths)
	if len(handovers) == 0 {
		return t
	}
	slices.Sort(handovers)
	t.BestUs = handovers[0]
	t.Direct, _ = slices.BinarySearch(handovers, direct*t.BestUs)
	t.HandoverUs = chart.Middle(handovers[:max(t.Direct, 1)])
	return t
}
