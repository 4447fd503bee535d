package watchcmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/watch"
)

// changeLog prints who sets what, and sums it up.
type changeLog struct {
	a     *app.App
	out   *watch.Outlet
	json  bool
	line  []byte
	epoch time.Time // when CLOCK_MONOTONIC was 0
	sums  map[watch.Setter]watch.SetCount
	changeEnd
}

// changeEnd is what stands at the end.
type changeEnd struct {
	took         time.Duration
	changes      int
	lost, behind uint64 // without a line: they came too fast, or the output was too slow
	code         int
}

// runChanges prints until it is to end; missing is an error about targets that are not there
// while others are.
func runChanges(ctx context.Context, a *app.App, fs procfs.FS, t watch.Targets, missing error, o watchOptions) error {
	w, err := watch.OpenChanges(fs, t)
	if err != nil {
		return exit.With(exit.NotPermitted, err)
	}
	defer w.Close()
	l := newChangeLog(a, o.output.JSON())
	l.begin(t)
	err = errors.Join(w.Run(ctx, o.length.Duration, l.settings), missing)
	if a.Signal != 0 {
		err = exit.With(128+int(a.Signal), nil)
	}
	l.code = exit.Code(err)
	return l.end(err)
}

func newChangeLog(a *app.App, json bool) *changeLog {
	return &changeLog{a: a, out: watch.NewOutlet(a.Out, outletBytes), json: json, sums: map[watch.Setter]watch.SetCount{},
		epoch: time.Now().Add(-kernel.Monotonic())}
}

const changeRow = "%-15s %-34s %-28s %-8s %s\n"

func (l *changeLog) begin(t watch.Targets) {
	line := fmt.Appendf(nil, changeRow, "TIME", "BY", "OF", "WHAT", "CHANGE")
	if l.json {
		line = watchList.Append(nil, watchStart{sample.SourceBPF, true, t})
	}
	_, _ = l.out.Offer(line) // it is empty, so there is room
}

// settings prints and adds up what was set.
func (l *changeLog) settings(s watch.Settings) error {
	l.took += s.Over
	l.lost += s.Lost
	for i := range s.List {
		one := &s.List[i]
		l.changes++
		sum := l.sums[one.Setter()]
		sum.Add(one)
		l.sums[one.Setter()] = sum
		taken, err := l.out.Offer(l.append(one))
		if err != nil {
			return err
		}
		if !taken {
			l.behind++
		}
	}
	return nil
}

func (l *changeLog) append(s *watch.Setting) []byte {
	if l.json {
		l.line = setList.Append(l.line[:0], setRow{s, l.epoch})
		return l.line
	}
	by := fmt.Sprintf("%s %d", field.Clean(s.By.Comm), s.By.PID)
	switch {
	case s.By.Own:
		by += " (this program)"
	case s.By.Unit != "":
		by += " (" + field.Clean(s.By.Unit) + ")"
	}
	l.line = fmt.Appendf(l.line[:0], changeRow, l.epoch.Add(s.At).Format(clock), by, field.Clean(s.Target()), s.Attribute, s.Words())
	return l.line
}

// end prints the sums; err is what ended watching before its time.
func (l *changeLog) end(err error) error {
	if closed := l.out.Close(); closed != nil {
		return closed
	}
	var rows []setterRow
	for _, by := range slices.SortedFunc(maps.Keys(l.sums), func(a, b watch.Setter) int {
		return cmp.Or(cmp.Compare(l.sums[b].Changes, l.sums[a].Changes), cmp.Compare(a.Comm+a.Target, b.Comm+b.Target))
	}) {
		rows = append(rows, setterRow{by, l.sums[by], l.took})
	}
	var out bytes.Buffer
	if l.json {
		setterList.JSON(&out, rows...)
		setSummaryList.JSON(&out, &l.changeEnd)
	} else {
		l.summary(&out, rows)
	}
	_, _ = l.a.Write(out.Bytes())
	return err
}

func (l *changeLog) summary(out *bytes.Buffer, rows []setterRow) {
	fmt.Fprintf(out, "\n%s in %.3f s\n", chart.Plural(l.changes, "change"), l.took.Seconds())
	if l.lost > 0 {
		fmt.Fprintf(out, "%s not listed: they came too fast\n", chart.Plural(int(l.lost), "more change"))
	}
	if l.behind > 0 {
		fmt.Fprintf(out, "%s not printed because the output was too slow; they are in these sums\n", chart.Plural(int(l.behind), "change"))
	}
	for _, r := range rows {
		if text := r.SetCount.Overwrites(r.Setter, r.over); text != "" {
			fmt.Fprintf(out, "%s\n", field.Clean(text))
		}
	}
	if len(rows) > 0 {
		out.WriteByte('\n')
		setterList.First(out, rows, "changer")
	}
}

type (
	setRow struct {
		*watch.Setting
		epoch time.Time
	}
	setterRow struct {
		watch.Setter
		watch.SetCount
		over time.Duration
	}
)

func (r setterRow) perS() float64 { return float64(r.Changes) / r.over.Seconds() }

var (
	setList = output.NewList("watch", "set", "an attribute that was set, or was to be",
		output.Col("time", "", output.Text, "when", func(s setRow) any { return field.Stamp(s.epoch.Add(s.At)) }),
		output.Col("time_ns", "", output.Int, "CLOCK_MONOTONIC", func(s setRow) any { return int64(s.At) }),
		output.Col("by", "", output.Text, "name of the thread that set it", func(s setRow) any { return s.By.Comm }),
		output.Col("by_pid", "", output.Int, "its process", func(s setRow) any { return int(s.By.PID) }),
		output.Col("by_tid", "", output.Int, "its number", func(s setRow) any { return int(s.By.TID) }),
		output.Col("by_unit", "", output.Text, "its systemd unit, empty for none", func(s setRow) any { return s.By.Unit }),
		output.Col("own", "", output.Bool, "it runs this program", func(s setRow) any { return s.By.Own }),
		output.Col("pid", "", output.MaybeInt, "process that was changed", func(s setRow) any { return field.Known(int(s.Of.PID), s.Of.PID != 0) }),
		output.Col("tid", "", output.MaybeInt, "thread that was changed", func(s setRow) any { return field.Known(int(s.Of.TID), s.Of.TID != 0) }),
		output.Col("comm", "", output.Text, "its name, empty if it is none", func(s setRow) any { return s.Of.Comm }),
		output.Col("cgroup", "", output.Text, "control group that was changed, empty if it is none", func(s setRow) any { return s.Of.Group() }),
		output.Col("all_of", "", output.Text, "process group or user of which all tasks were meant, empty for none", func(s setRow) any { return s.Whole }),
		output.Col("attribute", "", output.Text, "affinity, policy, nice, ioprio, weight, quota, cpuset or cgroup", func(s setRow) any { return string(s.Attribute) }),
		output.Col("from", "", output.Text, "value before, empty if it is not known", func(s setRow) any { return s.From }),
		output.Col("to", "", output.Text, "value after; if it was refused, the one that was asked for", func(s setRow) any { return s.To }),
		output.Col("errno", "", output.Int, "why it was refused, 0 if it was not", func(s setRow) any { return int(s.Errno) }),
		output.Col("error", "", output.Text, "its name (EINVAL), empty for none", func(s setRow) any { return kernel.ErrnoName(s.Errno) }))
	setterList = output.NewList("watch", "setter", "how often a program set an attribute",
		output.Col("by", "BY", output.Text, "name of the changer", func(r setterRow) any { return r.Comm }),
		output.Col("by_unit", "UNIT", output.Text, "its systemd unit, empty for none", func(r setterRow) any { return r.Unit }),
		output.Col("own", "", output.Bool, "it runs this program", func(r setterRow) any { return r.Own }),
		output.Col("of", "OF", output.Text, "name of the process, or the control group, that was changed", func(r setterRow) any { return r.Target }),
		output.Col("itself", "", output.Bool, "the process changed itself", func(r setterRow) any { return r.Itself }),
		output.Col("attribute", "WHAT", output.Text, "as in set lines", func(r setterRow) any { return string(r.Attribute) }),
		output.Col("count", ">CHANGES", output.Int, "how often", func(r setterRow) any { return r.Changes }),
		output.Col("per_s", ">PER S", output.Number, "how often a second", func(r setterRow) any { return r.perS() }).
			As(func(r setterRow) string { return chart.Digits(r.perS()) }),
		output.Col("refused", ">REFUSED", output.Int, "of them, by the kernel", func(r setterRow) any { return r.Refused }))
	setSummaryList = output.NewList("watch", "set_summary", "the end of a watch of changes",
		output.Col("duration_s", "", output.Number, "time watched", func(e *changeEnd) any { return e.took.Seconds() }),
		output.Col("changes", "", output.Int, "changes that were seen", func(e *changeEnd) any { return e.changes }),
		output.Col("lost", "", output.Int, "more that came too fast", func(e *changeEnd) any { return e.lost }),
		output.Col("lost_output", "", output.Int, "that were seen but not printed, as the output was too slow", func(e *changeEnd) any { return e.behind }),
		output.Col("exit_code", "", output.Int, "of the run", func(e *changeEnd) any { return e.code }))
)
