package watchcmd

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/sample"
	"piton/internal/why"
	"piton/internal/why/page"
)

// whyAnswer is an answer to be printed.
type whyAnswer struct {
	*why.Answer
	at   time.Time
	code int
}

// usualWidth is that of lines which are not for a terminal, mostRows how many rows a table has.
const (
	usualWidth = 120
	mostRows   = 12
)

func (w whyAnswer) print(a *app.App, o output.Format) {
	if o.JSON() {
		waitList.JSON(a, page.Rows(w.Answer, page.Look{}, 0)...)
		whyList.JSON(a, w)
		return
	}
	look := page.Look{Width: usualWidth, ASCII: a.ASCII}
	if width, ok := app.TerminalWidth(a.Out); ok {
		look.Width = width
	}
	_, _ = a.Write([]byte(w.text(look)))
}

// text is the answer in lines of a width.
func (w whyAnswer) text(l page.Look) string {
	lines := page.Head(w.Answer, l)
	table, inline := whyTable(page.Rows(w.Answer, l, mostRows), l)
	lines = append(append(lines, table...), page.Foot(w.Answer, l, inline)...)
	return strings.Join(lines, "\n") + "\n"
}

// whyTable is the table with as many columns as fit; inline says that remedies are among them.
func whyTable(rows []page.Row, l page.Look) (lines []string, inline bool) {
	if len(rows) == 0 {
		return nil, true
	}
	columns := slices.DeleteFunc(slices.Clone(page.Columns()), func(c field.Column[page.Row]) bool { return c.Title == "" })
	if rows[0].A.Target.Lacking != "" { // the others are empty
		columns = slices.DeleteFunc(columns, func(c field.Column[page.Row]) bool { return c.ID != "name" && c.ID != "remedy" })
	}
	for _, remedies := range []bool{true, false} {
		shown := slices.Clone(columns)
		if !remedies {
			shown = slices.DeleteFunc(shown, func(c field.Column[page.Row]) bool { return c.ID == "remedy" })
		}
		for {
			var fits bool
			if lines, fits = laidOut(shown, rows, l.Width); fits {
				return lines, remedies
			}
			least := slices.MaxFunc(shown, func(a, b field.Column[page.Row]) int { return a.Rank - b.Rank })
			if least.Rank == 0 {
				break
			}
			shown = slices.DeleteFunc(shown, func(c field.Column[page.Row]) bool { return c.Rank == least.Rank })
		}
	}
	return lines, false
}

func laidOut(columns []field.Column[page.Row], rows []page.Row, width int) (lines []string, fits bool) {
	var out bytes.Buffer
	output.Selection("wait", columns).Table(rows).Write(&out)
	fits = true
	for line := range strings.Lines(out.String()) {
		line = " " + strings.TrimRight(line, "\n")
		lines, fits = append(lines, line), fits && field.Width([]byte(line)) <= width
	}
	return lines, fits
}

// ofWaits is a column of what only eBPF measures.
func ofWaits(name, help string, kind field.Type, value func(w whyAnswer) any) field.Column[whyAnswer] {
	return output.Col(name, "", kind|output.Null, help, func(w whyAnswer) any { return field.Known(value(w), w.Target.Lacking == "") })
}

// parts are those of the longest wait, in ns.
func (w whyAnswer) parts() any {
	out := []field.Member{}
	for _, p := range w.Answer.Longest {
		out = append(out, field.Member{Name: p.Name, Value: int64(p.Time)})
	}
	return out
}

func (w whyAnswer) source() string {
	if w.Target.Lacking == "" {
		return sample.SourceBPF.String()
	}
	return sample.SourceSched.String()
}

var (
	waitList = output.NewList("why", "wait", "what the threads of a target waited for", page.Columns()...)
	whyList  = output.NewList("why", "why", "why they waited", append(append([]field.Column[whyAnswer]{
		output.Col("time", "", output.Text, "when observing ended", func(w whyAnswer) any { return field.Stamp(w.at) }),
		output.Col("duration_s", "", output.Number, "time observed", func(w whyAnswer) any { return w.Span.Seconds() }),
		output.Col("target", "", output.Text, "as asked for", func(w whyAnswer) any { return w.Target.Name }),
		output.Col("source", "", output.Text, "where waits come from", func(w whyAnswer) any { return w.source() }),
		output.Col("lacking", "", output.MaybeText, "why causes are not known", func(w whyAnswer) any { return field.NonEmpty(w.Target.Lacking) }),
		output.Col("verdict", "", output.Text, "LIMIT, NEIGHBOUR, SELF, HOST, REALTIME, KERNEL, MASK, WAKING, NOTHING, UNKNOWN",
			func(w whyAnswer) any { return w.Verdict.Word }),
		output.Col("sentence", "", output.Text, "the verdict in a sentence", func(w whyAnswer) any { return w.Verdict.Sentence }),
		output.Col("longest_verdict", "", output.MaybeText, "of the longest waits, where that is another one",
			func(w whyAnswer) any { return field.NonEmpty(w.Tail.Word) }),
		output.Col("threads", "", output.Int, "threads seen", func(w whyAnswer) any { return w.Threads }),
		output.Col("ran_ns", "", output.Int, "time on a CPU, summed over threads", func(w whyAnswer) any { return int64(w.Ran) }),
		output.Col("waited_ns", "", output.Int, "time waited for one", func(w whyAnswer) any { return int64(w.Waited) }),
		output.Col("slept_ns", "", output.Int, "the rest", func(w whyAnswer) any { return int64(w.Slept) }),
		output.Col("slices", "", output.Int, "times that a thread got a CPU", func(w whyAnswer) any { return w.Target.Slices }),
		output.Col("pressure_ns", "", output.MaybeInt, "time that some task of its control group waited (PSI), throttling included",
			func(w whyAnswer) any { return field.Known(int64(w.Target.Pressure), w.Target.Pressure >= 0) }),
		ofWaits("woken", "waits that began with a wakeup", output.Int, func(w whyAnswer) any { return w.Woken.Count() }),
		ofWaits("preempted", "waits that began with being preempted", output.Int, func(w whyAnswer) any { return w.Preempted.Count() }),
	}, quantiles()...),
		ofWaits("max_ns", "the longest wait", output.Int, func(w whyAnswer) any { return int64(w.Observation.Longest.Time) }),
		ofWaits("max_tid", "thread of that one", output.Int, func(w whyAnswer) any { return int(w.Observation.Longest.TID) }),
		ofWaits("max_cpu", "CPU of that one", output.Int, func(w whyAnswer) any { return int(w.Observation.Longest.CPU) }),
		ofWaits("max_parts", "ns of that one by what was waited for", output.Numbers, whyAnswer.parts),
		ofWaits("bins", "waits by length: below 1,024 ns, then four bins an octave", output.Ints, func(w whyAnswer) any {
			all := w.Waits()
			return field.Values(all[:])
		}),
		ofWaits("avoidable_mask_ns", "waited while an idle CPU was excluded by the mask, at least", output.Int,
			func(w whyAnswer) any { return int64(w.Avoidable.Mask) }),
		ofWaits("avoidable_cpuset_ns", "waited while one was excluded by the cpuset, at least", output.Int,
			func(w whyAnswer) any { return int64(w.Avoidable.Cpuset) }),
		ofWaits("avoidable_missed_ns", "waited while an allowed one was idle, at least", output.Int,
			func(w whyAnswer) any { return int64(w.Avoidable.Missed) }),
		output.Col("avoidable_remedy", "", output.Texts|output.Null, "the command that widens the mask", func(w whyAnswer) any { return page.Words(w.Mask) }),
		ofWaits("lost", "events that were lost", output.Int, func(w whyAnswer) any { return w.Lost }),
		ofWaits("cost_ns", "CPU time that observing took", output.Int, func(w whyAnswer) any { return int64(w.Cost) }),
		output.Col("exit_code", "", output.Int, "of the run", func(w whyAnswer) any { return w.code }))...)
)

func quantiles() (out []field.Column[whyAnswer]) {
	for _, q := range page.Quantiles {
		out = append(out, ofWaits(q.ID, q.Name+" of the waits", output.Int, func(w whyAnswer) any {
			all := w.Waits()
			return int64(all.Quantile(q.Q, w.Observation.Longest.Time))
		}))
	}
	return out
}
