package page

import (
	"fmt"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/why"
)

// Row is a row of an answer.
type Row struct {
	*why.Row
	A *why.Answer
	Look
}

// Rows are an answer's, at most so many: the last is the rest then. 0 is all.
func Rows(a *why.Answer, l Look, most int) (out []Row) {
	for _, r := range a.Top(most) {
		out = append(out, Row{&r, a, l})
	}
	return out
}

// barCells is how wide a share is drawn, mostName how wide a name is.
const (
	barCells = 10
	mostName = 40
)

// measured is a text of what only eBPF measures.
func measured(text func(Row) string) func(Row) string {
	return func(r Row) string {
		if r.A.Target.Lacking != "" {
			return r.Spelled(field.None)
		}
		return r.Spelled(text(r))
	}
}

// ofWaits is measured of the parts of waits, where they were counted.
func ofWaits(text func(Row) string) func(Row) string {
	return measured(func(r Row) string {
		if r.Waits == 0 {
			return field.None
		}
		return text(r)
	})
}

// known is a value of what only eBPF measures.
func known(value func(Row) any) func(Row) any {
	return func(r Row) any { return field.Known(value(r), r.A.Target.Lacking == "") }
}

func column(id, title string, kind field.Type, help string, value func(Row) any) field.Column[Row] {
	return field.Column[Row]{ID: id, Title: title, Right: id != "name" && id != "remedy" && id != "", Type: kind, Help: help, Value: value}
}

func ranked(rank int, c field.Column[Row]) field.Column[Row] {
	c.Rank = rank
	return c
}

// The columns have Rank where a table can do without them, those of a high rank first.
var columns = []field.Column[Row]{
	column("kind", "", field.TypeText, "the cause: self, neighbour, real time, kernel, host, limit, waking, unknown", func(r Row) any { return kind(r.Row) }),
	column("scope", "", field.TypeText, "what the line is about: own, cgroup, process, machine", func(r Row) any { return r.Scope() }),
	column("name", "WAITED FOR", field.TypeText, "who or what had the CPU", func(r Row) any { return r.Name }).As(func(r Row) string {
		text := []byte(r.Spelled(fmt.Sprintf("%-9s  %s", kind(r.Row), r.Name)))
		if width(string(text)) > mostName {
			text = field.Pad(text, 0, mostName, false, r.ASCII)
		}
		return string(text)
	}),
	column("share", "SHARE", field.TypeNumber|field.TypeNull, "part of all waiting", known(func(r Row) any { return field.Rounded(float32(r.Share)) })).
		As(measured(func(r Row) string { return percent(r) })),
	ranked(2, column("", " ", 0, "", nil).As(func(r Row) string { return r.Spelled(chart.Eighths(r.Share, barCells)) })),
	column("ns", "", field.TypeInt|field.TypeNull, "time waited for it, summed over threads", known(func(r Row) any { return int64(r.Time) })),
	column("ms_per_s", "ms/s", field.TypeNumber|field.TypeNull, "the same a second", known(func(r Row) any { return field.Rounded(float32(r.rate())) })).
		As(measured(func(r Row) string { return PerSecond(r.rate()) })),
	ranked(3, column("count", "WAITS", field.TypeInt|field.TypeNull, "waits with such a part", known(func(r Row) any { return r.Waits })).
		As(ofWaits(func(r Row) string { return chart.Group(fmt.Sprint(r.Waits)) }))),
	ranked(1, column("p99_ns", "p99", field.TypeInt|field.TypeNull, "of these parts", known(func(r Row) any { return int64(r.Bins.Quantile(0.99, r.Waited.Longest)) })).
		As(ofWaits(func(r Row) string { return duration(r.Bins.Quantile(0.99, r.Waited.Longest)) }))),
	ranked(4, column("longest_ns", "MAX", field.TypeInt|field.TypeNull, "the longest such part", known(func(r Row) any { return int64(r.Waited.Longest) })).
		As(ofWaits(func(r Row) string { return duration(r.Waited.Longest) }))),
	column("cgroup", "", field.TypeText|field.TypeNull, "control group, of limit the one whose limit it is", func(r Row) any { return field.NonEmpty(r.Group) }),
	column("ancestor", "", field.TypeBool|field.TypeNull, "of limit: the group is above that of the target", func(r Row) any { return r.Ancestor() }),
	column("pid", "", field.TypeInt|field.TypeNull, "process that had most of it", func(r Row) any { return field.Known(int(r.PID), r.PID != 0) }),
	column("processes", "", field.TypeInt|field.TypeNull, "processes that had the CPU", known(func(r Row) any { return r.Processes })),
	column("periods", "", field.TypeInt|field.TypeNull, "of limit: periods of the group", func(r Row) any { return r.periods(false) }),
	column("throttled_periods", "", field.TypeInt|field.TypeNull, "of these, in which it was throttled", func(r Row) any { return r.periods(true) }),
	column("remedy", "WHAT HELPS", field.TypeTexts|field.TypeNull, "the command that helps, a word each", func(r Row) any { return Words(r.Remedy) }).
		As(func(r Row) string { return r.Spelled(r.Remedy.Text) }),
	column("advice", "", field.TypeText|field.TypeNull, "what helps, as people read it", func(r Row) any {
		return field.Known(r.Remedy.Text, r.Remedy.Text != why.None && r.Remedy.Text != "")
	}),
	column("expect", "", field.TypeText|field.TypeNull, "what the command gives", func(r Row) any { return field.NonEmpty(r.Remedy.Expect) }),
}

// Columns are those of Rows.
func Columns() []field.Column[Row] { return columns }

// Words are a remedy's command, nil without one.
func Words(r why.Remedy) any {
	if r.Argv == nil {
		return nil
	}
	return field.Values(r.Argv)
}

// rate is ms waited a second.
func (r Row) rate() float64 {
	if r.A.Span <= 0 {
		return 0
	}
	return 1000 * r.Time.Seconds() / r.A.Span.Seconds()
}

// PerSecond is time waited, in ms a second, as people read it: with tenths below 100, so that a
// column of them stays in line.
func PerSecond(rate float64) string {
	const exact = 99.95
	if rate >= exact {
		return chart.Group(fmt.Sprintf("%.0f", rate))
	}
	return fmt.Sprintf("%.1f", rate)
}

// periods of a group with a limit, or those of them that were throttled.
func (r Row) periods(throttled bool) any {
	switch {
	case r.Limiting == nil:
		return nil
	case throttled:
		return r.Limiting.Throttled
	}
	return r.Limiting.Periods
}

func percent(r Row) string {
	if r.Percent == 0 && r.Time > 0 {
		return "< 1 %"
	}
	return fmt.Sprintf("%d %%", r.Percent)
}
