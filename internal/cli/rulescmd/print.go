package rulescmd

import (
	"fmt"
	"strings"
	"time"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/history"
	"piton/internal/chart"
	"piton/internal/cli/app"
	"piton/internal/cli/autocmd"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/rules/daemon"
)

// printer prints what the daemon reports.
type printer struct {
	a            *app.App
	file, source string
	output       output.Format
}

// stated is a note with what does not change.
type stated struct {
	daemon.Report
	printer
}

var (
	appliedList = output.NewList("rules", "applied", "what became of a rule for a process",
		output.Col("time", "", output.Text, "when it was done", func(daemon.Effect) any { return field.Stamp(time.Now()) }),
		output.Col("pid", "", output.Int, "process", func(d daemon.Effect) any { return int(d.PID) }),
		output.Col("comm", "", output.Text, "its name", func(d daemon.Effect) any { return d.Comm }),
		output.Col("rule", "", output.Text, "the rule's name", func(d daemon.Effect) any { return d.Rule.Name }),
		output.Col("status", "", output.Text, "done, unchanged, planned, ended or failed", func(d daemon.Effect) any { return string(d.Status) }),
		output.Col("changes", "", output.Texts, "what was changed, a sentence an attribute", func(d daemon.Effect) any { return field.Values(sentences(d)) }),
		output.Col("journal", "", output.MaybeInt, "entry for piton undo", func(d daemon.Effect) any { return field.Known(d.Entry, d.Entry != 0) }),
		output.Col("after_s", "", output.MaybeNumber, "time from its exec or fork until it was in force, null for one that ran already",
			func(d daemon.Effect) any { return field.Known(d.Took.Seconds(), d.Took > 0) }),
		output.Col("error", "", output.Text, "why it failed", func(d daemon.Effect) any { return d.Why }))
	steeredList = output.NewList("rules", "steered", "what became of the packets of a rule's processes",
		output.Col("time", "", output.Text, "when", func(*daemon.Steered) any { return field.Stamp(time.Now()) }),
		output.Col("rule", "", output.Text, "the rule's name", func(s *daemon.Steered) any { return s.Rule.Name }),
		output.Col("event", "", output.Text, "steered, left-alone (it is looked again later) or over", func(s *daemon.Steered) any { return string(s.Event) }),
		output.Col("pids", "", output.Ints, "its processes then", func(s *daemon.Steered) any { return field.Values(s.PIDs) }),
		output.Col("policy", "", output.Text, "as of piton irq follow", func(s *daemon.Steered) any { return s.Rule.Follow }),
		output.Col("via", "", output.MaybeText, "the way; null: none was taken", func(s *daemon.Steered) any { return field.NonEmpty(string(s.Way)) }),
		output.Col("share_same_cpu_before", "", output.MaybeNumber, "share of bytes, 0 to 1, that was read on the CPU that handled the packets, before; null: nothing was seen", func(s *daemon.Steered) any { return share(s.Before) }),
		output.Col("share_same_cpu", "", output.MaybeNumber, "and once they were steered", func(s *daemon.Steered) any { return share(s.After) }),
		output.Col("why", "", output.Texts, "why better ways are not to be had, how it is done, or why nothing is set", func(s *daemon.Steered) any { return field.Values(s.Reasons()) }),
		output.Col("error", "", output.MaybeText, "why it failed or ended early; null: it did not", func(s *daemon.Steered) any { return field.NonEmpty(exit.Message(s.Err)) }))
	daemonList = output.NewList("rules", "daemon", "what happened to piton rules run itself",
		output.Col("time", "", output.Text, "when", func(stated) any { return field.Stamp(time.Now()) }),
		output.Col("event", "", output.Text, "started, reloaded, refused, lost, conflict, trouble or stopped", func(s stated) any { return string(s.Kind) }),
		output.Col("file", "", output.Text, "of the rules", func(s stated) any { return s.file }),
		output.Col("source", "", output.Text, "by which processes are met", func(s stated) any { return s.source }),
		output.Col("message", "", output.Text, "a sentence", func(s stated) any { return s.Note }))
)

func (p printer) report(r daemon.Report) {
	switch {
	case r.Effect != nil && p.output.JSON():
		appliedList.JSON(p.a, *r.Effect)
	case r.Effect != nil:
		p.effect(r.Effect)
	case r.Search != nil && p.output.JSON():
		autocmd.WriteEnd(p.a, &r.Search.State, r.Search.Err, r.Search.Rule.Name)
	case r.Search != nil:
		p.search(r.Search)
	case r.Steered != nil && p.output.JSON():
		steeredList.JSON(p.a, r.Steered)
	case r.Steered != nil:
		p.steered(r.Steered)
	case p.output.JSON():
		daemonList.JSON(p.a, stated{r, p})
	case r.Kind == daemon.Started || r.Kind == daemon.Stopped || r.Kind == daemon.Reloaded:
		p.line("%s: %s", r.Kind, r.Note)
	default:
		p.a.Warn("%s", r.Note)
	}
}

// effect prints what was changed or could not be.
func (p printer) effect(d *daemon.Effect) {
	who := fmt.Sprintf("%s %d: %s", d.Comm, d.PID, d.Rule.Title())
	switch d.Status {
	case daemon.Unchanged, daemon.Ended: // nothing was done
	case daemon.Failed:
		p.a.Warn("%s: %s", who, d.Why)
	case daemon.Planned:
		if len(d.Changes) == 0 {
			what := "a placement would be searched"
			if d.Rule.Follows() {
				what = "its packets would be steered"
			}
			p.line("process %d: %s: %s", d.PID, d.Rule.Title(), what)
			return
		}
		p.line("%s: would change %s", who, strings.Join(sentences(*d), ", "))
	default:
		after := ""
		if d.Took > 0 {
			after = fmt.Sprintf(", %.3g ms after it started", d.Took.Seconds()*1000)
		}
		p.line("%s: %s (entry %d%s)", who, strings.Join(sentences(*d), ", "), d.Entry, after)
	}
}

// search prints what a search has found.
func (p printer) search(s *daemon.Search) {
	who := fmt.Sprintf("%s %d: %s", s.Comm, s.PID, s.Rule.Title())
	if s.Err != nil {
		p.a.Warn("%s: the search ended after %d periods: %v", who, s.Found.Periods, s.Err)
		return
	}
	undo := ""
	if s.Found.Outcome != nil {
		undo = fmt.Sprintf(" (entry %d)", s.Found.Outcome.Entry)
	}
	p.line("%s: %s%s", who, strings.TrimSuffix(strings.TrimSpace(s.Found.Sentence(s.Candidates, s.Metric)+" "+s.Caveat), "."), undo)
}

// steered prints what became of the packets of a rule's processes.
func (p printer) steered(s *daemon.Steered) {
	switch {
	case s.Err != nil && s.Event == daemon.LeftAlone:
		p.a.Warn("%s: no packets are steered: %v", s.Rule.Title(), s.Err)
	case s.Err != nil:
		p.a.Warn("%s: packets are not steered any more: %v", s.Rule.Title(), s.Err)
	case s.Event == daemon.LeftAlone:
		p.line("%s: %s", s.Rule.Title(), s.Why)
	case s.Event == daemon.Over:
		p.line("%s: packets are not steered any more; everything is as it was before", s.Rule.Title())
	default:
		before, _ := s.Before.Share(s.Before.SameCPU)
		p.line("%s: packets of %s are steered by %s: %s; before, %s", s.Rule.Title(), chart.Plural(len(s.PIDs), "process"), s.Way, s.After, chart.Percent(before))
	}
}

// share is that of what was read on the CPU that handled it.
func share(s action.Seen) any {
	of, ok := s.Share(s.SameCPU)
	return field.Known(of, ok)
}

func (p printer) line(format string, args ...any) {
	fmt.Fprintf(p.a, "%s %s\n", time.Now().Format(time.TimeOnly), exit.Sentence(fmt.Sprintf(format, args...)))
}

// sentences are the changes by attribute: "nice 0 → 5".
func sentences(d daemon.Effect) []string {
	var changed []change.Change
	for _, c := range d.Changes {
		if !c.Same() && !c.Gone() {
			changed = append(changed, c)
		}
	}
	out := []string{}
	for _, of := range group.By(changed, func(c *change.Change) string { return string(c.Attribute) }) {
		out = append(out, string(of[0].Attribute)+" "+history.FromTo(of))
	}
	return out
}
