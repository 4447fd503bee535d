package tunecmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/partition"
	"piton/internal/sample"
)

// verifyIsolation watches isolated CPUs, and prints what ran there.
func verifyIsolation(ctx context.Context, a *app.App, cpus cpuset.Set, o isolateOptions) error {
	v := verification{watcher: partition.NewWatcher(cpus), interrupts: irq.New("/").NewReader().Read}
	const tick = time.Second
	a.Warn("watching CPUs %s for %v", cpus, o.verify.Duration)
	err := a.Sample(ctx, tick, sample.Needs{Threads: true, Ledger: true}, sample.EBPFNow, func(m *model.Model) (bool, error) {
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
	table := irq.Next(v.before, now)
	found := v.watcher.Report(facts, &table)
	if o.apply.Output.JSON() {
		staysJSON(a, found, v.span)
	} else {
		staysTable(a, o.apply.Output, cpus, v.watcher, found, v.span)
	}
	return nil
}

// verification adds up what ran on isolated CPUs. The first sample opens the ledger and has
// no stays; interrupts are counted as of it as well.
type verification struct {
	watcher    *partition.Watcher
	interrupts func() (*irq.Snapshot, error)
	before     *irq.Snapshot
	span       time.Duration
}

func (v *verification) add(m *model.Model) (err error) {
	if why := ledgerError(m.Sample); why != nil {
		return exit.With(exit.NotPermitted, why)
	}
	if m.Elapsed == 0 {
		v.before, err = v.interrupts()
		return err
	}
	v.watcher.Add(m.Sample.Stays)
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

func staysTable(a *app.App, o output.Format, cpus cpuset.Set, w *partition.Watcher, found []partition.Interference, span time.Duration) {
	t := output.NewTable(">CPU", "KIND", ">NUMBER", "NAME", ">TIME", ">SHARE", ">LONGEST", ">TIMES", "WHY", "REMEDY")
	for _, v := range found {
		number := "-"
		if v.Kind == partition.KindTask || v.Kind == partition.KindIRQ {
			number = fmt.Sprint(v.Number)
		}
		run, share, longest := "-", "-", "-"
		if v.Timed {
			run, longest = brief(v.Run), brief(v.Longest)
			share = output.Percent(v.Run.Seconds()/span.Seconds(), 3)
		}
		t.Add(int(v.CPU), v.Kind, number, output.Dash(v.Name), run, share, longest, v.Times, output.Dash(v.Why), output.Dash(v.Do))
	}
	if o.Value == output.AsTable {
		fmt.Fprintf(a, "\nBusy for %v:", span.Round(10*time.Millisecond))
		busy := w.Busy(span)
		for i, cpu := range cpus.CPUs() {
			fmt.Fprintf(a, " CPU %d %s", cpu, output.Percent(busy[i], 3))
		}
		fmt.Fprintln(a)
	}
	t.WriteAs(a, o)
}

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

func staysJSON(a *app.App, found []partition.Interference, span time.Duration) {
	var l output.Line
	for _, v := range found {
		l.Start("stay").Add("cpu", int(v.CPU)).Add("kind", string(v.Kind)).
			Known("tid", v.Number, v.Kind == partition.KindTask).Known("irq", v.Number, v.Kind == partition.KindIRQ).
			Add("name", v.Name).Known("run_ns", v.Run.Nanoseconds(), v.Timed).Known("share", v.Run.Seconds()/span.Seconds(), v.Timed).
			Known("longest_ns", v.Longest.Nanoseconds(), v.Timed).Add("times", v.Times).Text("why", v.Why).Text("do", v.Do).Write(a)
	}
	l.Start("verified").Add("span_s", span.Seconds()).Add("stays", len(found)).Write(a)
}
