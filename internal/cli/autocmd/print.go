package autocmd

import (
	"fmt"
	"math"

	"piton/internal/auto"
	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/search"
)

// printer prints a search: in JSON as it goes, in text when it has ended.
type printer struct {
	app    *app.App
	format output.Format
	job    *auto.Job
}

// candidateRow is a candidate, and how far it came.
type candidateRow struct {
	auto.Candidate
	tried bool
	is    search.Candidate
	unit  string
}

// periodRow is one period.
type periodRow struct {
	candidate string
	rate      float64
	n, budget int
}

// outRow is a candidate that is out.
type outRow struct {
	candidate, reason string
	period            int
}

// endRow is how a search ended.
type endRow struct {
	*auto.Found
	job  *auto.Job
	err  error
	rule string
}

// WriteEnd prints the JSON line of a search that a rule asked for.
func WriteEnd(a *app.App, s *auto.State, err error, rule string) {
	endList.JSON(a, endRow{s.Found, s.Job, err, rule})
}

// isKept reports whether a candidate was kept that is not the kernel's own.
func (r endRow) isKept() bool { return r.Found.Kept.Name != auto.Kernel }

// cpus are those that the processes may use now.
func (r endRow) cpus() cpuset.Set {
	if r.Found.Kept.CPUs.Empty() {
		return r.job.Candidates[0].CPUs
	}
	return r.Found.Kept.CPUs
}

// rate is the median rate of a candidate, not known before its first period.
func (r endRow) rate(candidate int) any {
	if candidate >= len(r.Candidates) {
		return nil
	}
	v := r.Candidates[candidate].Median()
	return field.Known(v, !math.IsNaN(v))
}

// gain is a share that the finalist gained, by its ratio.
func (r endRow) gain(ratio float64, known bool) any {
	return field.Known(ratio-1, known && r.Finalist != 0 && !math.IsNaN(ratio) && !math.IsInf(ratio, 0))
}

func (r candidateRow) level() string {
	if len(r.is.Rates) == 0 || r.Name == auto.Kernel || math.IsNaN(r.is.Level) {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*math.Expm1(r.is.Level))
}

func (r candidateRow) state() string {
	switch {
	case !r.tried:
		return "not tried"
	case len(r.is.Rates) == 0:
		return "to try"
	}
	return r.is.State.String()
}

func (r candidateRow) rate() string {
	if v := r.is.Median(); !math.IsNaN(v) {
		return fmt.Sprintf("%.5g %s", v, r.unit)
	}
	return ""
}

func (r candidateRow) why() string {
	if r.is.Reason != "" {
		return r.is.Reason
	}
	return r.Reason
}

var (
	candidateList = output.NewList("auto", "candidate", "a placement, and whether it is tried",
		output.Col("name", "CANDIDATE", output.Text, "kernel is what there was before", func(r candidateRow) any { return r.Name }),
		output.Col("cpus", "CPUS", output.Text, "a cpulist, empty where there are none", func(r candidateRow) any { return r.CPUs.String() }),
		output.TableCol[candidateRow](">MEDIAN", candidateRow.rate),
		output.TableCol[candidateRow](">AGAINST KERNEL", candidateRow.level),
		output.TableCol[candidateRow](">PERIODS", func(r candidateRow) string { return fmt.Sprint(len(r.is.Rates)) }),
		output.TableCol[candidateRow]("STATE", candidateRow.state),
		output.Col("tried", "", output.Bool, "it is, else the reason says why not", func(r candidateRow) any { return r.tried }),
		output.Col("reason", "REASON", output.Text, "why it may be better, or why it is not tried",
			func(r candidateRow) any { return r.Reason }).As(candidateRow.why))
	periodList = output.NewList("auto", "period", "one period of a candidate",
		output.Col("candidate", "", output.Text, "its name", func(r periodRow) any { return r.candidate }),
		output.Col("rate", "", output.Number, "of the metric, per second", func(r periodRow) any { return r.rate }),
		output.Col("period", "", output.Int, "number of the period, from 1", func(r periodRow) any { return r.n }),
		output.Col("budget", "", output.Int, "periods at most", func(r periodRow) any { return r.budget }))
	outList = output.NewList("auto", "out", "a candidate that is out",
		output.Col("candidate", "", output.Text, "its name", func(r outRow) any { return r.candidate }),
		output.Col("reason", "", output.Text, "why", func(r outRow) any { return r.reason }),
		output.Col("period", "", output.Int, "after which period", func(r outRow) any { return r.period }))
	endList = output.NewList("auto", "auto", "how the search ended; the last line",
		output.Col("pid", "", output.Int, "process, the first of several", func(r endRow) any { return int(r.job.Targets[0].TID) }),
		output.Col("processes", "", output.Int, "placed together", func(r endRow) any { return len(r.job.Targets) }),
		output.Col("kept", "", output.Text, "kernel, or the placement that is in force now", func(r endRow) any { return r.Found.Kept.Name }),
		output.Col("cpus", "", output.Text, "what it may run on now, a cpulist", func(r endRow) any { return r.cpus().String() }),
		output.Col("metric", "", output.Text, "what was judged by", func(r endRow) any { return r.job.Metric.Name() }),
		output.Col("unit", "", output.Text, "of before and after", func(r endRow) any { return r.job.Metric.Unit() }),
		output.Col("weakness", "", output.MaybeText, "of a metric that was not named", func(r endRow) any { return field.NonEmpty(r.job.Metric.Weakness) }),
		output.Col("before", "", output.MaybeNumber, "median rate as the kernel places it", func(r endRow) any { return r.rate(0) }),
		output.Col("after", "", output.MaybeNumber, "median rate of what is kept", func(r endRow) any { return r.rate(r.Result.Kept) }),
		output.Col("delta", "", output.Number, "share gained by what is kept, 0 for kernel", func(r endRow) any {
			if r.isKept() {
				return r.Effect - 1
			}
			return 0.0
		}),
		output.Col("finalist", "", output.MaybeText, "the candidate compared in fresh pairs", func(r endRow) any {
			if r.Finalist == 0 {
				return nil
			}
			return r.job.Candidates[r.Finalist].Name
		}),
		output.Col("finalist_delta", "", output.MaybeNumber, "share that the finalist gained", func(r endRow) any { return r.gain(r.Effect, true) }),
		output.Col("low", "", output.MaybeNumber, "lower end of the interval of finalist_delta", func(r endRow) any { return r.gain(r.Low, r.HaveInterval) }),
		output.Col("high", "", output.MaybeNumber, "upper end", func(r endRow) any { return r.gain(r.High, r.HaveInterval) }),
		output.Col("confidence", "", output.MaybeNumber, "of the interval", func(r endRow) any { return field.Known(r.Confidence, r.HaveInterval) }),
		output.Col("p", "", output.MaybeNumber, "one-sided, exact", func(r endRow) any { return field.Known(r.P, r.Finalist != 0) }),
		output.Col("candidates", "", output.Int, "tried", func(r endRow) any { return len(r.job.Candidates) }),
		output.Col("periods", "", output.Int, "measured", func(r endRow) any { return r.Periods }),
		output.Col("seconds", "", output.Number, "that the search took", func(r endRow) any { return r.Took.Seconds() }),
		output.Col("reason", "", output.Text, "why it is kept", func(r endRow) any { return r.Reason }),
		output.Col("journal", "", output.MaybeInt, "entry for piton undo, of what is kept", func(r endRow) any {
			return field.Known(r.entry(), r.entry() != 0)
		}),
		output.Col("rule", "", output.MaybeText, "that asked for it, null where a user did", func(r endRow) any { return field.NonEmpty(r.rule) }),
		output.Col("error", "", output.MaybeText, "what ended the search early", func(r endRow) any {
			if r.err == nil {
				return nil
			}
			return r.err.Error()
		}))
)

func (r endRow) entry() uint64 {
	if r.Outcome == nil {
		return 0
	}
	return r.Outcome.Entry
}

// lookList is the looks of --watch.
var lookList = output.NewList("auto", "look", "a look of --watch",
	output.Col("placement", "", output.Text, "that is in force", func(l auto.Look) any { return l.Placement }),
	output.Col("ratio", "", output.MaybeNumber, "of its rate to that of what was before, in this look",
		func(l auto.Look) any { return field.Known(l.Ratio, l.Ratio != 0) }),
	output.Col("near", "", output.Number, "to an alarm, 0 to 1", func(l auto.Look) any { return l.Near }),
	output.Col("alarm", "", output.Bool, "it seems to have become worse", func(l auto.Look) any { return l.Alarm }),
	output.Col("reverted", "", output.Bool, "it was not confirmed, and was undone", func(l auto.Look) any { return l.Reverted }),
	output.Col("reason", "", output.Text, "what follows", func(l auto.Look) any { return l.Reason }))

// look prints a look, in text only one that has a consequence.
func (p *printer) look(l auto.Look) {
	switch {
	case p.format.JSON():
		lookList.JSON(p.app, l)
	case l.Reverted:
		fmt.Fprintf(p.app, "%s: undone: %s\n", l.Placement, l.Reason)
	case l.Reason != "":
		fmt.Fprintf(p.app, "%s: %s\n", l.Placement, l.Reason)
	}
}

// candidates prints what will be tried and what will not.
func (p *printer) candidates(left []auto.Candidate) {
	var rows []candidateRow
	for _, c := range p.job.Candidates {
		rows = append(rows, candidateRow{Candidate: c, tried: true})
	}
	for _, c := range left {
		rows = append(rows, candidateRow{Candidate: c})
	}
	candidateList.Write(p.app, rows, p.format)
}

// event prints one step of the search.
func (p *printer) event(e search.Event) {
	if !p.format.JSON() {
		return
	}
	name := p.job.Candidates[e.Candidate].Name
	switch e.Kind {
	case search.Measured:
		periodList.JSON(p.app, periodRow{name, e.Reading.Rate, e.Now.Periods, e.Now.Budget})
	case search.Eliminated:
		outList.JSON(p.app, outRow{name, e.Now.Candidates[e.Candidate].Reason, e.Now.Periods})
	}
}

// end prints how the search ended.
func (p *printer) end(f *auto.Found, err error) {
	row := endRow{Found: f, job: p.job, err: err}
	if p.format.JSON() {
		endList.JSON(p.app, row)
		return
	}
	var rows []candidateRow
	for i, c := range p.job.Candidates {
		if i < len(f.Candidates) {
			rows = append(rows, candidateRow{Candidate: c, tried: true, is: f.Candidates[i], unit: p.job.Metric.Unit()})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(p.app)
		candidateList.Write(p.app, rows, p.format)
	}
	if err == nil {
		fmt.Fprintf(p.app, "\n%s", f.Sentence(p.job.Candidates, p.job.Metric.Name()))
		if row.isKept() {
			fmt.Fprintf(p.app, " Undo it with piton undo %d.", row.entry())
		}
		fmt.Fprintln(p.app)
		if weak := p.job.Metric.Caveat(); weak != "" {
			fmt.Fprintln(p.app, weak)
		}
	}
}
