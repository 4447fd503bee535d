package watchcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/watch"
)

// interruptName stands for the waker of a wakeup that no task made.
const interruptName = "interrupt"

// wakeLog prints which thread wakes which, and sums it up.
type wakeLog struct {
	a         *app.App
	topo      *topology.Topology
	json      bool
	intervals int
	took      time.Duration
	wakeups   uint64
	lost      uint64
	code      int
}

// runWakes prints until it is to end; missing is an error about targets that are
// not there while others are.
func runWakes(ctx context.Context, a *app.App, fs procfs.FS, t watch.Targets, missing error, topo *topology.Topology, o watchOptions) error {
	w, err := watch.OpenWakes(fs, t)
	if err != nil {
		return exit.With(exit.NotPermitted, err)
	}
	defer w.Close()
	l := &wakeLog{a: a, topo: topo, json: o.output.JSON()}
	if l.json {
		watchList.JSON(a, watchStart{sample.SourceBPF, false, t})
	}
	err = errors.Join(w.Run(ctx, o.delay.Duration, o.length.Duration, l.interval), missing)
	if a.Signal != 0 {
		err = exit.With(128+int(a.Signal), nil)
	}
	l.code = exit.Code(err)
	l.end()
	return err
}

// interval prints the pairs of an interval, the one with most wakeups first.
func (l *wakeLog) interval(u watch.Wakeups) error {
	pairs := model.WakePairs(u.List)
	rows := make([]wakeRow, len(pairs))
	now, wakeups := time.Now(), uint64(0)
	for i, p := range pairs {
		rows[i] = wakeRow{p, l, now, u.Over}
		wakeups += p.Wakes + p.Back
	}
	l.intervals++
	l.took += u.Over
	l.wakeups += wakeups
	l.lost += u.Lost
	var out bytes.Buffer
	if l.json {
		wakeList.JSON(&out, rows...)
	} else {
		if l.intervals > 1 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s  %s wakeups/s of %s, over %s\n", now.Format(time.TimeOnly),
			chart.Digits(float64(wakeups)/u.Over.Seconds()), chart.Plural(len(pairs), "pair"), chart.Quantity(u.Over.Seconds(), "s"))
		if u.Lost > 0 {
			fmt.Fprintf(&out, "%s not counted: there were too many pairs; name targets\n", chart.Plural(int(u.Lost), "wakeup"))
		}
		wakeList.First(&out, rows, "pair")
	}
	_, err := l.a.Write(out.Bytes())
	return err
}

func (l *wakeLog) end() {
	if l.json {
		wakeSummaryList.JSON(l.a, l)
	}
}

// wakeRow is a pair of an interval.
type wakeRow struct {
	model.WakePair
	l    *wakeLog
	at   time.Time
	over time.Duration
}

func (r wakeRow) perS(n uint64) float64 { return float64(n) / r.over.Seconds() }

// interrupt reports whether the waker is no task. Nothing wakes an interrupt.
func (r wakeRow) interrupt() bool { return r.A.TID == 0 }

func (r wakeRow) distance() string { return r.l.topo.Distance(r.A.CPU, r.B.CPU).String() }

// waker is the name of the waker.
func (r wakeRow) waker() string {
	if r.interrupt() {
		return interruptName
	}
	return r.A.Comm
}

func (r wakeRow) back() string {
	if r.interrupt() {
		return ""
	}
	return chart.Digits(r.perS(r.Back))
}

var (
	wakeList = output.NewList("watch", "wake", "the wakeups between two threads in an interval",
		output.Col("time", "", output.Text, "when the interval ended", func(r wakeRow) any { return field.Stamp(r.at) }),
		output.Col("interval_s", "", output.Number, "its length", func(r wakeRow) any { return r.over.Seconds() }),
		output.Col("interrupt", "", output.Bool, "the waker is no task: a device, a timer or a softirq", func(r wakeRow) any { return r.interrupt() }),
		output.Col("waker_pid", "", output.MaybeInt, "process of the waker, the one that wakes more often",
			func(r wakeRow) any { return field.Known(int(r.A.TGID), !r.interrupt()) }),
		output.Col("waker_tid", ">TID", output.MaybeInt, "its thread", func(r wakeRow) any { return field.Known(int(r.A.TID), !r.interrupt()) }),
		output.Col("waker", "WAKER", output.Text, "its name", func(r wakeRow) any { return r.waker() }),
		output.Col("waker_cpu", ">CPU", output.Int, "CPU where it last ran", func(r wakeRow) any { return int(r.A.CPU) }),
		output.Col("wakee_pid", "", output.Int, "process of the other thread", func(r wakeRow) any { return int(r.B.TGID) }),
		output.Col("wakee_tid", ">TID", output.Int, "its thread", func(r wakeRow) any { return int(r.B.TID) }),
		output.Col("wakee", "WAKEE", output.Text, "its name", func(r wakeRow) any { return r.B.Comm }),
		output.Col("wakee_cpu", ">CPU", output.Int, "CPU where it last ran", func(r wakeRow) any { return int(r.B.CPU) }),
		output.Col("per_s", ">WAKES/s", output.Number, "wakeups a second of the wakee by the waker",
			func(r wakeRow) any { return r.perS(r.Wakes) }).As(func(r wakeRow) string { return chart.Digits(r.perS(r.Wakes)) }),
		output.Col("back_per_s", ">BACK/s", output.Number, "wakeups a second of the waker by the wakee",
			func(r wakeRow) any { return r.perS(r.Back) }).As(wakeRow.back),
		output.Col("count", "", output.Int, "wakeups of the wakee by the waker", func(r wakeRow) any { return r.Wakes }),
		output.Col("back", "", output.Int, "wakeups of the waker by the wakee", func(r wakeRow) any { return r.Back }),
		output.Col("distance", "DISTANCE", output.Text, "what the CPUs share where they last ran", func(r wakeRow) any { return r.distance() }))
	wakeSummaryList = output.NewList("watch", "wake_summary", "the end of a watch of wakeups",
		output.Col("duration_s", "", output.Number, "time watched", func(l *wakeLog) any { return l.took.Seconds() }),
		output.Col("intervals", "", output.Int, "intervals that were printed", func(l *wakeLog) any { return l.intervals }),
		output.Col("wakeups", "", output.Int, "wakeups that were counted", func(l *wakeLog) any { return l.wakeups }),
		output.Col("lost", "", output.Int, "wakeups that were not: there were too many pairs", func(l *wakeLog) any { return l.lost }),
		output.Col("exit_code", "", output.Int, "of the run", func(l *wakeLog) any { return l.code }))
)
