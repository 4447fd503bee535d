package field

import (
	"fmt"
	"math"
	"time"

	"piton/internal/chart"
	"piton/internal/sample"
	"piton/internal/why"
)

// waitColumns are what only eBPF programs tell of waits, of the tasks on the screen.
func waitColumns() []TaskColumn {
	p99 := integer(TaskColumn{ID: "wait_p99_ns", Title: "WAIT p99", Short: "p99", Width: 9, Desc: true, Needs: needWaits, all: needEveryWait,
		Help: "99th percentile of its waits for a CPU in the last interval, in ns in JSON (eBPF); of the busiest tasks where all are asked for"},
		func(r Row) (int64, bool) {
			b, _ := r.waits()
			return int64(b.P99), b.P99 > 0
		})
	p99.span, p99.Missing = true, whyWaits
	p99.Append = func(dst []byte, r Row) []byte {
		b, _ := r.waits()
		if b.P99 == 0 {
			return appendNone(dst, r)
		}
		return append(dst, waitText(b.P99, r.ASCII)...)
	}
	blame := words(TaskColumn{ID: "blame", Title: "BLAME", Width: 15, Needs: needWaits, all: needEveryWait, Missing: whyWaits,
		Help: "what it waited for most, and the share of its waiting: a command, self, limit, kernel, host, mask, … (eBPF)"},
		func(r Row) string {
			b, _ := r.waits()
			if b.Blame == "" {
				return ""
			}
			return fmt.Sprintf("%s %d%%", b.Blame, int(math.Round(100*b.Share)))
		})
	blame.span = true
	return []TaskColumn{p99, blame}
}

func needWaits(n *sample.Needs)     { n.Waits = true }
func needEveryWait(n *sample.Needs) { n.Waits, n.EveryWait = true, true }

// waits are those of the row's task, if it was watched.
func (r Row) waits() (b why.Brief, watched bool) {
	b, watched = r.M.Sample.Waits[r.Task().TID]
	return b, watched
}

func whyWaits(r Row) string {
	if no := r.M.Sample.WhyNot("waits"); no != "" {
		return no
	}
	if _, watched := r.waits(); watched {
		return "it hardly waited for a CPU in the last interval"
	}
	return fmt.Sprintf("it was not watched in the last interval: only tasks on the screen are, and where all are asked for the %d busiest", sample.MostWaits)
}

// waitText is a duration in at most eight cells: "7.9 ms", "41 µs".
func waitText(d time.Duration, ascii bool) string {
	text := chart.Quantity(d.Seconds(), "s")
	if ascii {
		return chart.ASCII.Replace(text)
	}
	return text
}
