// Package page is how an answer of package why is read: its columns, for text, JSON and the screen,
// and the lines above and below the table.
//
// It is pure. Start at Head and Columns.
package page

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/why"
)

// Look is how wide lines may be, whether only ASCII can be shown, and whether the span is the last
// one of several.
type Look struct {
	Width int
	ASCII bool
	Last  bool
}

// gap is between the segments of a line.
const gap = "   "

// flow sets segments beside each other, as many as fit, each line after a blank.
func (l Look) flow(segments ...string) (lines []string) {
	for _, s := range segments {
		s = l.Spelled(s)
		last := len(lines) - 1
		switch {
		case s == "":
		case last >= 0 && width(lines[last])+len(gap)+width(s) <= l.Width:
			lines[last] += gap + s
		default:
			for _, part := range chart.Wrap(s, max(l.Width-1, 20)) {
				lines = append(lines, " "+part)
			}
		}
	}
	return lines
}

// Spelled is a text as it can be shown.
func (l Look) Spelled(text string) string {
	text = field.Clean(text)
	if l.ASCII {
		return chart.ASCII.Replace(text)
	}
	return text
}

func width(text string) int { return field.Width([]byte(text)) }

// Head is what stands above the table.
func Head(a *why.Answer, l Look) []string {
	lines := l.title(a)
	for _, v := range Verdicts(a) {
		lines = append(lines, l.wrapped(Label(v), v.Sentence)...)
	}
	if a.Threads == 0 {
		return lines
	}
	lines = append(lines, l.flow(Times(a, l)...)...)
	return append(lines, l.flow(Waits(a)...)...)
}

// Verdicts are the one of all waiting, and that of the longest waits where it is another.
func Verdicts(a *why.Answer) []why.Verdict {
	if a.Tail.Word == "" {
		return []why.Verdict{a.Verdict}
	}
	return []why.Verdict{a.Verdict, a.Tail}
}

// Label is a verdict's word before its sentence, as wide as others.
func Label(v why.Verdict) string { return fmt.Sprintf("%-9s  ", v.Word) }

// wrapped is a text after a label, its later lines below its first word.
func (l Look) wrapped(label, text string) (lines []string) {
	for i, line := range chart.Wrap(l.Spelled(text), max(l.Width-1-len(label), 20)) {
		if i > 0 {
			label = strings.Repeat(" ", len(label))
		}
		lines = append(lines, " "+label+line)
	}
	return lines
}

// title is whom it is about, and how that was observed.
func (l Look) title(a *why.Answer) []string {
	of, how := "WHY"+gap+Subject(a), strings.Join(How(a, l), ", ")
	left, right := " "+l.Spelled(of), l.Spelled(how)
	if blanks := l.Width - width(left) - width(right); blanks >= len(gap) {
		return []string{left + strings.Repeat(" ", blanks) + right}
	}
	return append(l.flow(of), l.flow(how)...)
}

// Subject is whom an answer is about: "nginx, 5 threads in web.service".
func Subject(a *why.Answer) string {
	of := a.Target.Name
	if a.Threads > 0 {
		of += ", " + chart.Plural(a.Threads, "thread")
	}
	if a.Target.Owner != "" && a.Target.Owner != a.Target.Name {
		of += " in " + a.Target.Owner
	}
	return of
}

// How is how it was observed, what matters most first: "10 s", "exact (eBPF)", …
func How(a *why.Answer, l Look) []string {
	span := chart.Clock(a.Span)
	if l.Last {
		span = "last " + span
	}
	how := []string{span, "from /proc"}
	if a.Target.Lacking == "" {
		how = []string{span, "exact (eBPF)", chart.Plural(int(a.Lost), "event") + " lost"}
	}
	if a.Cost > 0 && a.Span > 0 {
		how = append(how, fmt.Sprintf("cost %s of a CPU", chart.Percent(a.Cost.Seconds()/a.Span.Seconds())))
	}
	return how
}

// Times is what the threads did with their time: ran, waited, slept.
func Times(a *why.Answer, l Look) []string {
	cells := min(max(l.Width/4, 12), 28)
	ran, waited, slept := a.Times()
	part := func(name, bar string, percent int, more string) string {
		return strings.Join(strings.Fields(fmt.Sprintf("%s %s %d %% %s", name, bar, percent, more)), " ")
	}
	return []string{part("ran", chart.Eighths(a.PerThread(a.Ran), cells), ran, ""),
		part("waited", chart.Eighths(a.PerThread(a.Waited), cells), waited, fmt.Sprintf("= %s ms/s a thread", chart.Digits(1000*a.PerThread(a.Waited)))),
		part("slept", strings.Repeat("▒", int(math.Round(a.PerThread(a.Slept)*float64(cells)))), slept, "")}
}

// Waits is how long single waits were, in segments.
func Waits(a *why.Answer) (out []string) {
	if a.Target.Lacking != "" {
		return files(a)
	}
	waits := a.Waits()
	n := waits.Count()
	if n == 0 {
		return nil
	}
	text := []string{plural(n, "wait")}
	for _, q := range Quantiles {
		text = append(text, q.Name+" "+duration(waits.Quantile(q.Q, a.Observation.Longest.Time)))
	}
	text = append(text, "max "+duration(a.Observation.Longest.Time))
	octaves := waits.Octaves()
	histogram := fmt.Sprintf("1µs %s %s", strings.ReplaceAll(chart.Columns(octaves), " ", "·"), bound(len(octaves)-1))
	began := float64(a.Woken.Count()) / float64(n)
	split := chart.Wholes([]float64{began, 1 - began})
	return []string{text[0] + ": " + strings.Join(text[1:], ", "), histogram, fmt.Sprintf("woken %d %%, preempted %d %%", split[0], split[1])}
}

// bound is the end of an octave of bins, in short.
func bound(octave int) string {
	return strings.ReplaceAll(chart.Quantity(math.Exp2(float64(octave))*1e-6, "s"), " ", "")
}

// files is what the kernel's files tell of waits.
func files(a *why.Answer) (out []string) {
	if n := a.Target.Slices; n > 0 {
		out = append(out, fmt.Sprintf("%s of %s on average", plural(n, "wait"), duration(a.Waited/time.Duration(n))))
	}
	if p := a.Target.Pressure; p >= 0 && a.Span > 0 {
		text := fmt.Sprintf("some task of its group waited %s of the time (PSI", chart.Percent(p.Seconds()/a.Span.Seconds()))
		if g := a.Target.Tightest(); g != nil && g.Throttled > 0 {
			text += ", throttling included"
		}
		out = append(out, text+")")
	}
	if g := a.Target.Tightest(); g != nil {
		out = append(out, fmt.Sprintf("tightest limit: %s, of %s", why.Quota(g.Limit), g.Path))
	}
	return out
}

// plural is chart.Plural of numbers that may be long.
func plural(n uint64, what string) string {
	return chart.Group(fmt.Sprint(n)) + strings.TrimPrefix(chart.Plural(int(n), what), fmt.Sprint(n))
}

// Quantiles are those of waits that are shown.
var Quantiles = []struct {
	Name, ID string
	Q        float64
}{{"p50", "p50_ns", 0.5}, {"p95", "p95_ns", 0.95}, {"p99", "p99_ns", 0.99}, {"p99.9", "p999_ns", 0.999}}

func duration(d time.Duration) string { return chart.Quantity(d.Seconds(), "s") }

// Foot is what stands below the table; inline says that the table has the remedies.
func Foot(a *why.Answer, l Look, inline bool) (lines []string) {
	for i := range a.Rows {
		r := &a.Rows[i]
		text := r.Remedy.Text
		switch {
		case r.Remedy.Expect != "":
			text += " gives " + r.Remedy.Expect
		case inline || text == why.None:
			continue
		}
		lines = append(lines, l.wrapped(fmt.Sprintf("%-11s", r.Cause), text)...)
	}
	return append(lines, Notes(a, l)...)
}

// Notes is what could have been avoided, and the longest wait taken apart.
func Notes(a *why.Answer, l Look) (lines []string) {
	if v := a.Avoidable; v.Mask+v.Cpuset+v.Missed > 0 {
		lines = append(lines, l.wrapped(fmt.Sprintf("%-11s", "avoidable"), avoidable(a))...)
	}
	if w := a.Observation.Longest; w.Time > 0 && a.Target.Lacking == "" {
		var parts []string
		scale := chart.ScaleFor(w.Time.Seconds(), "s")
		for _, p := range a.Longest {
			parts = append(parts, fmt.Sprintf("%s %s (%d %%)", p.Name, scale.Number(p.Time.Seconds()), p.Percent))
		}
		lines = append(lines, l.wrapped(fmt.Sprintf("%-11s", "longest"), fmt.Sprintf("%s, thread %d, %s, cpu %d: %s",
			duration(w.Time), w.TID, w.End.Format("15:04:05.000"), w.CPU, strings.Join(parts, ", ")))...)
	}
	return lines
}

// avoidable is the waiting while another CPU was idle. It is a lower bound.
func avoidable(a *why.Answer) string {
	rate := func(d time.Duration) string {
		return "at least " + chart.Digits(1000*d.Seconds()/a.Span.Seconds()) + " ms/s"
	}
	var parts []string
	if d := a.Avoidable.Mask; d > 0 {
		who, _ := a.Excluder(false)
		text := fmt.Sprintf("%s while an idle CPU was excluded by %s", rate(d), who)
		if a.Mask.Text != why.None {
			text += ": " + a.Mask.Text
		}
		parts = append(parts, text)
	}
	if d := a.Avoidable.Cpuset; d > 0 {
		who, _ := a.Excluder(true)
		parts = append(parts, fmt.Sprintf("%s while one was excluded by %s", rate(d), who))
	}
	if d := a.Avoidable.Missed; d > 0 {
		parts = append(parts, fmt.Sprintf("%s while an allowed one was idle", rate(d)))
	}
	return strings.Join(parts, "; ")
}

// kind is the cause of a row.
func kind(r *why.Row) string { return cmp.Or(r.Kind, r.Cause.String()) }
