package rulescmd

import (
	"fmt"
	"strings"
	"time"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/autocmd"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
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
		output.Col("time", "", output.Text, "when it was done", func(daemon.Deed) any { return output.Stamp(time.Now()) }),
		output.Col("pid", "", output.Int, "process", func(d daemon.Deed) any { return int(d.PID) }),
		output.Col("comm", "", output.Text, "its name", func(d daemon.Deed) any { return d.Comm }),
		output.Col("rule", "", output.Text, "the rule's name", func(d daemon.Deed) any { return d.Rule.Name }),
		output.Col("status", "", output.Text, "done, unchanged, planned, ended or failed", func(d daemon.Deed) any { return string(d.Status) }),
		output.Col("changes", "", output.Texts, "what was changed, a sentence an attribute", func(d daemon.Deed) any { return output.Values(sentences(d)) }),
		output.Col("journal", "", output.MaybeInt, "entry for piton undo", func(d daemon.Deed) any { return output.Known(d.Entry, d.Entry != 0) }),
		output.Col("after_s", "", output.MaybeNumber, "time from its exec or fork until it was in force, null for one that ran already",
			func(d daemon.Deed) any { return output.Known(d.Took.Seconds(), d.Took > 0) }),
		output.Col("error", "", output.Text, "why it failed", func(d daemon.Deed) any { return d.Why }))
	daemonList = output.NewList("rules", "daemon", "what happened to piton rules run itself",
		output.Col("time", "", output.Text, "when", func(stated) any { return output.Stamp(time.Now()) }),
		output.Col("event", "", output.Text, "started, reloaded, refused, lost, conflict, trouble or stopped", func(s stated) any { return string(s.Kind) }),
		output.Col("file", "", output.Text, "of the rules", func(s stated) any { return s.file }),
		output.Col("source", "", output.Text, "by which processes are met", func(s stated) any { return s.source }),
		output.Col("message", "", output.Text, "a sentence", func(s stated) any { return s.Note }))
)

func (p printer) report(r daemon.Report) {
	switch {
	case r.Deed != nil && p.output.JSON():
		appliedList.JSON(p.a, *r.Deed)
	case r.Deed != nil:
		p.deed(r.Deed)
	case r.Search != nil && p.output.JSON():
		autocmd.WriteEnd(p.a, &r.Search.State, r.Search.Err, r.Search.Rule.Name)
	case r.Search != nil:
		p.search(r.Search)
	case p.output.JSON():
		daemonList.JSON(p.a, stated{r, p})
	case r.Kind == daemon.Started || r.Kind == daemon.Stopped || r.Kind == daemon.Reloaded:
		p.line("%s: %s", r.Kind, r.Note)
	default:
		p.a.Warn("%s", r.Note)
	}
}

// deed prints what was changed or could not be.
func (p printer) deed(d *daemon.Deed) {
	who := fmt.Sprintf("%s %d: %s", d.Comm, d.PID, d.Rule.Title())
	switch d.Status {
	case daemon.Unchanged, daemon.Ended: // nothing was done
	case daemon.Failed:
		p.a.Warn("%s: %s", who, d.Why)
	case daemon.Planned:
		if len(d.Changes) == 0 {
			p.line("process %d: %s: a placement would be searched", d.PID, d.Rule.Title())
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

func (p printer) line(format string, args ...any) {
	fmt.Fprintf(p.a, "%s %s\n", time.Now().Format(time.TimeOnly), exit.Sentence(fmt.Sprintf(format, args...)))
}

// sentences are the changes by attribute: "nice 0 → 5".
func sentences(d daemon.Deed) []string {
	var changed []change.Change
	for _, c := range d.Changes {
		if !c.Same() && !c.Gone() {
			changed = append(changed, c)
		}
	}
	out := []string{}
	for _, of := range group.By(changed, func(c *change.Change) string { return string(c.Attribute) }) {
		out = append(out, string(of[0].Attribute)+" "+change.FromTo(of))
	}
	return out
}
