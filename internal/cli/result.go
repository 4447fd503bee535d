package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/group"
	"piton/internal/place"
)

// printChoices says which CPUs were chosen and why.
func (a *app) printChoices(choices []place.Choice, o output) {
	var l line
	for _, c := range choices {
		if o.json() {
			l.start("choice").add("tid", int(c.TID)).add("cpus", c.CPUs.String()).add("reason", c.Reason).
				add("warning", c.Warning).add("guess", c.Guess).write(a)
			continue
		}
		for _, text := range []string{c.Warning, c.Reason} {
			if text != "" {
				a.warn("%d: %s", c.TID, text)
			}
		}
	}
}

// printChanges prints changes, and the summary in JSON. The exit code is the
// run's as far as is known.
func (a *app) printChanges(r change.Outcome, o applyOptions, code int) {
	if o.output.json() {
		a.writeChanges(r.Changes)
		a.writeSummary(r, o.dryRun, code)
		return
	}
	for _, w := range r.Warnings {
		a.warn("%s", w.Text)
	}
	if o.sweep && o.output.value == asTable {
		sweepTable(r.Changes).write(a)
		if r.Entry != 0 {
			a.warn("each of them is in the journal: piton journal %d", r.Entry)
		}
		return
	}
	if len(r.Changes) > 0 || o.output.value == asCSV {
		changeTable(r.Changes, o.output.value == asTable).writeAs(a, o.output)
	}
}

// writeChanges prints one {"type":"change"} line each.
func (a *app) writeChanges(changes []change.Change) {
	var l line
	for _, c := range changes {
		l.change(c).write(a)
		if c.Attribute == attr.Memory {
			a.writePages(c)
		}
	}
}

// change begins a line about a change: "object" and "path" are of a file of the kernel,
// and "pid", "tid" and "comm" of a task.
func (l *line) change(c change.Change) *line {
	if l.start("change"); c.IsFile() {
		l.add("object", c.Object.Object()).add("path", c.Path)
	} else {
		l.add("pid", int(c.PID)).add("tid", int(c.TID)).add("comm", c.Comm)
	}
	failure := ""
	if c.Err != nil {
		failure = c.Err.Error()
	}
	return l.add("attribute", string(c.Attribute)).add("before", attr.Text(c.Before)).add("after", attr.Text(c.After)).
		add("status", string(c.Status)).add("error", failure).add("reason", c.Reason)
}

func (a *app) writeSummary(r change.Outcome, dryRun bool, code int) {
	var l line
	l.start("summary").add("v", Version)
	for _, s := range []attr.Status{attr.Planned, attr.Done, attr.Unchanged, attr.Failed, attr.Refused} {
		l.add(string(s), r.Count(s))
	}
	plan := change.Plan{Changes: r.Changes}
	l.add("processes", plan.Processes()).add("threads", plan.Threads()).add("files", plan.Files()).add("newborn", r.Newborn).
		add("dry_run", dryRun).add("journal", orNull(r.Entry, r.Entry != 0)).add("warnings", list(change.Texts(r.Warnings))).
		add("exit_code", code).write(a)
}

// reading is how a change of something reads.
type reading struct {
	of            any
	attribute     attr.Attribute
	before, after string
	status        attr.Status
	why           string
}

func readingOf(c *change.Change, of any) reading {
	return reading{of, c.Attribute, attr.Text(c.Before), attr.Text(c.After), c.Status, c.Why()}
}

// changeTable lists the changes, threads of a process that read the same as one
// row when asked to.
func changeTable(changes []change.Change, together bool) *table {
	t := newTable(">PID", ">TID", "COMM", ">THREADS", "ATTRIBUTE", "BEFORE", "AFTER", "STATUS", "REASON")
	groups := slices.Collect(slices.Chunk(changes, 1))
	if together {
		groups = group.By(changes, func(c *change.Change) reading {
			if c.IsFile() {
				return readingOf(c, c.Path)
			}
			return readingOf(c, c.PID)
		})
	}
	for _, g := range groups {
		c := &g[0]
		pid, tid, comm, threads := any(c.PID), any(c.TID), dash(c.Comm), any(len(g))
		if c.IsFile() {
			pid, tid, comm, threads = "-", "-", c.Object.Object(), "-"
		}
		t.add(pid, tid, comm, threads, c.Attribute, dash(attr.Text(c.Before)), dash(attr.Text(c.After)), c.Status, c.Why())
	}
	return t
}

// sweepTable has a row for changes that are alike, whatever they are of: there are
// thousands.
func sweepTable(changes []change.Change) *table {
	t := newTable("ATTRIBUTE", "BEFORE", "AFTER", "STATUS", ">NUMBER", "OF", "REASON")
	alike := func(c *change.Change) reading {
		if c.Gone() {
			return reading{attribute: c.Attribute, status: c.Status, why: "ended meanwhile"}
		}
		return readingOf(c, nil)
	}
	for _, g := range group.By(changes, alike) {
		var names []string
		for _, c := range g[:min(shownNames, len(g))] {
			name := c.Name
			if !c.IsFile() {
				name = fmt.Sprintf("%s (%d)", dash(c.Comm), c.TID)
			}
			names = append(names, name)
		}
		of := strings.Join(names, ", ")
		if more := len(g) - len(names); more > 0 {
			of += fmt.Sprintf(" and %d more", more)
		}
		r := alike(&g[0])
		t.add(r.attribute, dash(r.before), dash(r.after), r.status, len(g), of, r.why)
	}
	return t
}

// shownNames is how many of many are named.
const shownNames = 3

// ended is the end of a run, with what cut it short: where something was changed it
// does not exit as if nothing had been.
func ended(r change.Outcome, err error) error {
	switch {
	case err == nil:
		return outcomeError(r)
	case r.Changed() && exitCode(err) != ExitInterrupted:
		return withCode(ExitSome, err)
	}
	return err
}

// outcomeError is the end of a run by what became of its changes: a sentence of
// summary, as everything has been printed.
func outcomeError(r change.Outcome) error {
	verdict := r.Verdict()
	if verdict == change.AllDone {
		return nil
	}
	var why []error
	if first, bad := r.FirstBad(); bad {
		text := fmt.Errorf("%s of %d: %s", first.Attribute, first.TID, first.Why())
		if first.IsFile() {
			text = fmt.Errorf("%s of %s: %s", first.Attribute.Title(), first.Object.Object(), first.Why())
		}
		if n := r.Count(attr.Failed) + r.Count(attr.Refused); n > 1 {
			text = fmt.Errorf("%d of %d changes failed, the first: %w", n, len(r.Changes), text)
		}
		why = append(why, text)
	}
	if r.Unrecorded != nil {
		why = append(why, fmt.Errorf("changed, but the journal does not say so: %w", r.Unrecorded))
	}
	if len(r.Damage) > 0 {
		why = append(why, fmt.Errorf("%d lines of the journal are damaged; what they record was not undone", len(r.Damage)))
	}
	return withCode(map[change.Verdict]int{change.Some: ExitSome, change.Failed: ExitFailed, change.NotPermitted: ExitNotPermitted}[verdict], errors.Join(why...))
}
