package tunecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/sample"
)

// verifyIsolation watches isolated CPUs, and prints what ran there.
func verifyIsolation(ctx context.Context, a *app.App, cpus cpuset.Set, o isolateOptions) error {
	gaps, err := watchGaps(a, cpus, o.apply.Output)
	if err != nil {
		return err
	}
	defer gaps.end()
	v := verification{watcher: partition.NewWatcher(cpus), interrupts: interruptsIfAny(irq.New("/").NewReader().Read), own: gaps.threads}
	const tick = time.Second
	a.Warn("watching CPUs %s for %v", cpus, o.verify.Duration)
	err = a.Sample(ctx, tick, sample.Needs{Threads: true, Ledger: true}, sample.EBPFNow, func(m *model.Model) (bool, error) {
		err := v.add(m)
		return err == nil && v.span < o.verify.Duration-tick/2, err
	})
	if err != nil {
		return err
	}
	now, err := v.interrupts()
	if err != nil {
		return err
	}
	facts, err := partition.Look()
	if err != nil {
		return err
	}
	if err := gaps.end(); err != nil {
		return err
	}
	table := irq.Next(v.before, now)
	found := v.watcher.Report(facts, &table)
	if v.untold == nil {
		printStays(a, o.apply.Output, cpus, v.watcher, found, v.span)
	}
	gaps.print()
	if o.apply.Output.JSON() {
		verifiedList.JSON(a, verified{span: v.span, stays: len(found), gaps: gaps})
	}
	return v.untold
}

// interruptsIfAny reads none where they are masked; the plan has said so.
func interruptsIfAny(read func() (*irq.Snapshot, error)) func() (*irq.Snapshot, error) {
	return func() (*irq.Snapshot, error) {
		s, err := read()
		if errors.Is(err, irq.ErrMasked) {
			return &irq.Snapshot{At: kernel.Monotonic()}, nil
		}
		return s, err
	}
}

// verification adds up what ran on isolated CPUs. The first sample opens the ledger and has
// no run intervals; interrupts are counted as of it as well.
type verification struct {
	watcher    *partition.Watcher
	interrupts func() (*irq.Snapshot, error)
	before     *irq.Snapshot
	span       time.Duration
	own        []kernel.TID // threads that spin there
	untold     error        // why tasks and interrupts are not counted
}

func (v *verification) add(m *model.Model) (err error) {
	if why := ledgerError(m.Sample); why != nil {
		v.untold = exit.With(exit.NotPermitted, why)
	}
	if m.Elapsed == 0 {
		v.before, err = v.interrupts()
		return err
	}
	v.watcher.Add(slices.DeleteFunc(slices.Clone(m.Sample.RunIntervals), func(r sample.RunInterval) bool {
		return r.Kind == sample.RunOfTask && slices.Contains(v.own, r.TID)
	}))
	v.span += m.Elapsed
	return nil
}

// ledgerError says why the CPUs' time by task is not known.
func ledgerError(s *sample.Sample) error {
	for _, c := range s.Collectors {
		if c.Name == "ledger" {
			return c.Err
		}
	}
	return errors.New("CPU time by task needs eBPF, which --source proc keeps off (see piton doctor)")
}

// interference is what ran on isolated CPUs in a span.
type interference struct {
	partition.Interference
	span time.Duration
}

func (s interference) share() float64 { return s.Run.Seconds() / s.span.Seconds() }

// timed is a text of one whose times are known, "" for another.
func timed(text func(s interference) string) func(interference) string {
	return func(s interference) string {
		if !s.Timed {
			return ""
		}
		return text(s)
	}
}

// number is that of a task or an interrupt, "" for what has none.
func (s interference) number() string {
	if s.Kind == partition.KindTask || s.Kind == partition.KindIRQ {
		return fmt.Sprint(s.Number)
	}
	return ""
}

// printStays prints what ran on the CPUs.
func printStays(a *app.App, o output.Format, cpus cpuset.Set, w *partition.Watcher, found []partition.Interference, span time.Duration) {
	if o.Value == output.AsTable {
		fmt.Fprintf(a, "\nBusy for %v:", span.Round(10*time.Millisecond))
		busy := w.Busy(span)
		for i, cpu := range cpus.CPUs() {
			fmt.Fprintf(a, " CPU %d %s", cpu, chart.Percent(busy[i]))
		}
		fmt.Fprintln(a)
	}
	rows := make([]interference, len(found))
	for i, v := range found {
		rows[i] = interference{v, span}
	}
	interferenceList.Write(a, rows, o)
}

// verified ends the list.
type verified struct {
	span  time.Duration
	stays int
	gaps  *gapLog
}

var (
	interferenceList = output.NewList("isolate", "stay", "what still ran on isolated CPUs",
		output.Col("cpu", ">CPU", output.Int, "where", func(s interference) any { return int(s.CPU) }),
		output.Col("kind", "KIND", output.Text, "task, irq, softirq or interrupt", func(s interference) any { return string(s.Kind) }),
		output.Col("tid", ">NUMBER", output.MaybeInt, "number of the task",
			func(s interference) any { return field.Known(s.Number, s.Kind == partition.KindTask) }).As(interference.number),
		output.Col("irq", "", output.MaybeInt, "number of the line",
			func(s interference) any { return field.Known(s.Number, s.Kind == partition.KindIRQ) }),
		output.Col("name", "NAME", output.Text, "its name", func(s interference) any { return s.Name }),
		output.Col("run_ns", ">TIME", output.MaybeInt, "time that it ran",
			func(s interference) any { return field.Known(s.Run.Nanoseconds(), s.Timed) }).
			As(timed(func(s interference) string { return brief(s.Run) })),
		output.Col("share", ">SHARE", output.MaybeNumber, "that as a share of the span",
			func(s interference) any { return field.Known(s.share(), s.Timed) }).
			As(timed(func(s interference) string { return chart.Percent(s.share()) })),
		output.Col("longest_ns", ">LONGEST", output.MaybeInt, "its longest stay",
			func(s interference) any { return field.Known(s.Longest.Nanoseconds(), s.Timed) }).
			As(timed(func(s interference) string { return brief(s.Longest) })),
		output.Col("times", ">TIMES", output.Int, "how often", func(s interference) any { return s.Times }),
		output.Col("why", "WHY", output.MaybeText, "why it ran there", func(s interference) any { return field.NonEmpty(s.Why) }),
		output.Col("do", "REMEDY", output.MaybeText, "what helps", func(s interference) any { return field.NonEmpty(s.Do) }))
	verifiedList = output.NewList("isolate", "verified", "the end of that list",
		output.Col("span_s", "", output.Number, "time watched", func(v verified) any { return v.span.Seconds() }),
		output.Col("stays", "", output.Int, "stay lines before", func(v verified) any { return v.stays }),
		output.Col("gaps", "", output.Int, "gap lines before", func(v verified) any { return v.gaps.count }),
		output.Col("least_ns", "", output.Int, "the shortest gap that is told", func(v verified) any { return v.gaps.watcher.Least.Nanoseconds() }),
		output.Col("lost", "", output.Int, "gaps and events that found no room", func(v verified) any { return int(v.gaps.watcher.Lost()) }),
		output.Col("named_by", "", output.MaybeText, "what names gaps: ebpf", func(v verified) any { return field.NonEmpty(v.gaps.source()) }))
)

// brief is a time in the unit that suits it.
func brief(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
