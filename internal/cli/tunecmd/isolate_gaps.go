package tunecmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"piton/internal/change/guard"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/noise"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// SpinVerb is the hidden command under which piton starts itself to spin on CPUs.
const SpinVerb = "piton-spin-on"

// Spin is the main function of that process.
func Spin(a *app.App, args []string) int {
	cpus, err := cpuset.Parse(strings.Join(args[1:], " "))
	if err != nil || cpus.Empty() {
		return exit.Usage
	}
	if err := noise.Spin(a.In, a.Out, cpus); err != nil {
		a.Warn("%s", exit.Message(err))
		return exit.Failed
	}
	return exit.Done
}

// gapLog is what is kept of the gaps of isolated CPUs while they are watched.
type gapLog struct {
	watcher *noise.Watcher
	threads []kernel.TID // that spin
	count   int

	out     io.Writer
	format  output.Format
	boot    time.Time // when CLOCK_MONOTONIC was 0
	sums    map[gapOf]*gapSum
	longest []noise.Gap
	stop    chan struct{}
	ended   chan error // nil when it has been waited for
}

// gapOf is who came between, on which CPU.
type gapOf struct {
	cpu cpuset.CPU
	noise.Who
}

// gapSum is what they took.
type gapSum struct {
	gapOf
	gaps    int
	time    time.Duration
	longest time.Duration
	at      time.Time
}

// gapTick is how often gaps are taken: the ring has room for 18,000 events.
const gapTick = 100 * time.Millisecond

// longestGaps is how many gaps a table has.
const longestGaps = 10

func watchGaps(a *app.App, cpus cpuset.Set, format output.Format) (*gapLog, error) {
	w, err := noise.Watch(SpinVerb, guard.Environment(a.Env), cpus, a.EBPF(sample.EBPFNow) != sample.EBPFNever)
	if err != nil {
		return nil, err
	}
	threads, _ := procfs.New("/").Threads(w.PID()) // none of one that has ended, which Gaps tells
	l := &gapLog{
		watcher: w, threads: threads, out: a, format: format, boot: time.Now().Add(-kernel.Monotonic()), sums: map[gapOf]*gapSum{},
		stop: make(chan struct{}), ended: make(chan error, 1),
	}
	go l.watch()
	return l, nil
}

func (l *gapLog) watch() {
	for {
		last := false
		select {
		case <-l.stop:
			last = true
		case <-time.After(gapTick):
		}
		gaps, err := l.watcher.Gaps()
		for _, g := range gaps {
			l.add(g)
		}
		if last || err != nil {
			l.ended <- err
			return
		}
	}
}

func (l *gapLog) add(g noise.Gap) {
	l.count++
	for _, p := range g.Parts {
		k := gapOf{g.CPU, p.Who}
		s := l.sums[k]
		if s == nil {
			s = &gapSum{gapOf: k}
			l.sums[k] = s
		}
		s.gaps++
		if s.time += p.Length; p.Length > s.longest {
			s.longest, s.at = p.Length, l.boot.Add(g.At)
		}
	}
	if l.format.JSON() {
		gapList.JSON(l.out, toldGap{g, l.boot})
	}
	if len(l.longest) < longestGaps || g.Length > l.longest[longestGaps-1].Length {
		l.longest = append(l.longest, g)
		slices.SortStableFunc(l.longest, func(a, b noise.Gap) int { return cmp.Compare(b.Length, a.Length) })
		l.longest = l.longest[:min(len(l.longest), longestGaps)]
	}
}

// end ends the watch; once.
func (l *gapLog) end() error {
	if l.ended == nil {
		return nil
	}
	close(l.stop)
	err := <-l.ended
	l.ended = nil
	l.watcher.Close()
	return err
}

// source is what names gaps, "" for nothing.
func (l *gapLog) source() string {
	if l.watcher.Unnamed != nil {
		return ""
	}
	return "ebpf"
}

// print prints the sums and the longest; lines of JSON are there already.
func (l *gapLog) print() {
	sums := make([]gapSum, 0, len(l.sums))
	for _, s := range l.sums {
		sums = append(sums, *s)
	}
	slices.SortFunc(sums, func(a, b gapSum) int {
		return cmp.Or(cmp.Compare(a.cpu, b.cpu), cmp.Compare(b.time, a.time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number))
	})
	switch {
	case l.format.JSON():
		gapSums.JSON(l.out, sums...)
		return
	case l.format.Value != output.AsTable:
		return
	}
	named := "named by eBPF programs"
	if l.watcher.Unnamed != nil {
		named = "without names: " + l.watcher.Unnamed.Error()
	}
	fmt.Fprintf(l.out, "\n%s of %s and more in %s of a thread that spun there, %s",
		chart.Plural(l.count, "gap"), brief(l.watcher.Least), l.watcher.Span().Round(10*time.Millisecond), named)
	if lost := l.watcher.Lost(); lost > 0 {
		fmt.Fprintf(l.out, ", %d lost", lost)
	}
	fmt.Fprintln(l.out)
	if l.count == 0 {
		return
	}
	gapSums.Table(sums).Write(l.out)
	fmt.Fprintln(l.out, "\nThe longest:")
	told := make([]toldGap, len(l.longest))
	for i, g := range l.longest {
		told[i] = toldGap{g, l.boot}
	}
	gapList.Table(told).Write(l.out)
}

// toldGap is a gap as it is printed.
type toldGap struct {
	noise.Gap
	boot time.Time
}

func (g toldGap) parts() string {
	texts := make([]string, len(g.Parts))
	for i, p := range g.Parts {
		texts[i] = p.Who.String() + " " + brief(p.Length)
	}
	return strings.Join(texts, ", ")
}

// numberOf is the number of a task or an interrupt line, nil for what has none.
func numberOf(w noise.Who, kinds ...noise.Kind) any {
	return field.Known(w.Number, slices.Contains(kinds, w.Kind))
}

var (
	gapList = output.NewList("isolate", "gap", "a time in which a thread that spun on an isolated CPU did not run",
		output.Col("cpu", ">CPU", output.Int, "where", func(g toldGap) any { return int(g.CPU) }),
		output.Col("at", "TIME", output.Text, "when it began", func(g toldGap) any { return g.boot.Add(g.At).Format(time.RFC3339Nano) }).
			As(func(g toldGap) string { return g.boot.Add(g.At).Format("15:04:05.000000") }),
		output.Col("gap_ns", ">GAP", output.Int, "its length", func(g toldGap) any { return g.Length.Nanoseconds() }).
			As(func(g toldGap) string { return brief(g.Length) }),
		output.Col("kind", "", output.Text, "what took most of it: task, kthread, irq, softirq, interrupt, nmi, hardware (SMI or hypervisor), unknown",
			func(g toldGap) any { return string(g.Parts[0].Kind) }),
		output.Col("tid", "", output.MaybeInt, "number of that task", func(g toldGap) any { return numberOf(g.Parts[0].Who, noise.Task, noise.Kthread) }),
		output.Col("irq", "", output.MaybeInt, "number of that line", func(g toldGap) any { return numberOf(g.Parts[0].Who, noise.IRQ) }),
		output.Col("name", "", output.MaybeText, "its name", func(g toldGap) any { return field.NonEmpty(g.Parts[0].Name) }),
		output.Col("parts", "WHO", output.Texts, "all that took of it, the longest first", func(g toldGap) any {
			texts := make([]string, len(g.Parts))
			for i, p := range g.Parts {
				texts[i] = p.Who.String()
			}
			return field.Values(texts)
		}).As(toldGap.parts),
		output.Col("parts_ns", "", output.Numbers, "how much each took", func(g toldGap) any {
			ns := make([]float64, len(g.Parts))
			for i, p := range g.Parts {
				ns[i] = float64(p.Length)
			}
			return field.Values(ns)
		}))
	gapSums = output.NewList("isolate", "gaps", "what came between the thread that spun on an isolated CPU and its CPU, in all",
		output.Col("cpu", ">CPU", output.Int, "where", func(s gapSum) any { return int(s.cpu) }),
		output.Col("kind", "KIND", output.Text, "as of a gap", func(s gapSum) any { return string(s.Kind) }),
		output.Col("tid", ">NUMBER", output.MaybeInt, "number of the task", func(s gapSum) any { return numberOf(s.Who, noise.Task, noise.Kthread) }).
			As(func(s gapSum) string {
				n, _ := numberOf(s.Who, noise.Task, noise.Kthread, noise.IRQ).(int)
				return numberText(n)
			}),
		output.Col("irq", "", output.MaybeInt, "number of the line", func(s gapSum) any { return numberOf(s.Who, noise.IRQ) }),
		output.Col("name", "NAME", output.MaybeText, "its name", func(s gapSum) any { return field.NonEmpty(s.Name) }),
		output.Col("gaps", ">GAPS", output.Int, "in how many gaps", func(s gapSum) any { return s.gaps }),
		output.Col("time_ns", ">TAKEN", output.Int, "what it took of them", func(s gapSum) any { return s.time.Nanoseconds() }).
			As(func(s gapSum) string { return brief(s.time) }),
		output.Col("longest_ns", ">LONGEST", output.Int, "of one at most", func(s gapSum) any { return s.longest.Nanoseconds() }).
			As(func(s gapSum) string { return brief(s.longest) }),
		output.Col("longest_at", "AT", output.Text, "when that gap began", func(s gapSum) any { return s.at.Format(time.RFC3339Nano) }).
			As(func(s gapSum) string { return s.at.Format("15:04:05.000000") }))
)

func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
