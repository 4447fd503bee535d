package changes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/output"
	"piton/internal/group"
	"piton/internal/place"
)

// PrintChoices says which CPUs were chosen and why.
func PrintChoices(a *app.App, choices []place.Choice, o output.Format) {
	var l output.Line
	for _, c := range choices {
		if o.JSON() {
			l.Start("choice").Add("tid", int(c.TID)).Add("cpus", c.CPUs.String()).Add("reason", c.Reason).
				Add("warning", c.Warning).Add("guess", c.Guess).Write(a)
			continue
		}
		for _, text := range []string{c.Warning, c.Reason} {
			if text != "" {
				a.Warn("%d: %s", c.TID, text)
			}
		}
	}
}

// Print prints changes, and the summary in JSON. The exit code is the
// run's as far as is known.
func Print(a *app.App, r change.Outcome, o Options, code int) {
	if o.Output.JSON() {
		WriteJSON(a, r.Changes)
		writeSummary(a, r, o.DryRun, code)
		return
	}
	for _, w := range r.Warnings {
		a.Warn("%s", w.Text)
	}
	if o.Grouped && o.Output.Value == output.AsTable {
		sweepTable(r.Changes).Write(a)
		if r.Entry != 0 {
			a.Warn("each of them is in the journal: piton journal %d", r.Entry)
		}
		return
	}
	if len(r.Changes) > 0 || o.Output.Value == output.AsCSV {
		Table(r.Changes, o.Output.Value == output.AsTable).WriteAs(a, o.Output)
	}
}

// WriteJSON prints one {"type":"change"} line each.
func WriteJSON(a *app.App, changes []change.Change) {
	var l output.Line
	for _, c := range changes {
		startChange(&l, c).Write(a)
		if c.Attribute == attr.Memory {
			writePages(a, c)
		}
	}
}

// startChange begins a line about a change: "object" and "path" are of a file of the kernel,
// and "pid", "tid" and "comm" of a task.
func startChange(l *output.Line, c change.Change) *output.Line {
	if l.Start("change"); c.IsFile() {
		l.Add("object", c.Object.Object()).Add("path", c.Path)
	} else {
		l.Add("pid", int(c.PID)).Add("tid", int(c.TID)).Add("comm", c.Comm)
	}
	failure := ""
	if c.Err != nil {
		failure = c.Err.Error()
	}
	return l.Add("attribute", string(c.Attribute)).Add("before", attr.Text(c.Before)).Add("after", attr.Text(c.After)).
		Add("status", string(c.Status)).Add("error", failure).Add("reason", c.Reason)
}

func writeSummary(a *app.App, r change.Outcome, dryRun bool, code int) {
	var l output.Line
	l.Start("summary")
	for _, s := range []attr.Status{attr.Planned, attr.Done, attr.Unchanged, attr.Failed, attr.Refused} {
		l.Add(string(s), r.Count(s))
	}
	plan := change.Plan{Changes: r.Changes}
	l.Add("processes", plan.Processes()).Add("threads", plan.Threads()).Add("files", plan.Files()).Add("newborn", r.Newborn).
		Add("dry_run", dryRun).Known("journal", r.Entry, r.Entry != 0).Add("warnings", output.List(change.Texts(r.Warnings))).
		Add("exit_code", code).Write(a)
}

// reading is what a row says: changes with the same one share a row.
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

// Table lists the changes, threads of a process that read the same as one
// row when asked to.
func Table(changes []change.Change, together bool) *output.Table {
	t := output.NewTable(">PID", ">TID", "COMM", ">THREADS", "ATTRIBUTE", "BEFORE", "AFTER", "STATUS", "REASON")
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
		pid, tid, comm, threads := any(c.PID), any(c.TID), output.Dash(c.Comm), any(len(g))
		if c.IsFile() {
			pid, tid, comm, threads = "-", "-", c.Object.Object(), "-"
		}
		t.Add(pid, tid, comm, threads, c.Attribute, output.Dash(attr.Text(c.Before)), output.Dash(attr.Text(c.After)), c.Status, c.Why())
	}
	return t
}

// sweepTable has a row for changes that are alike, whatever they are of: there are
// thousands.
func sweepTable(changes []change.Change) *output.Table {
	t := output.NewTable("ATTRIBUTE", "BEFORE", "AFTER", "STATUS", ">NUMBER", "OF", "REASON")
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
				name = fmt.Sprintf("%s (%d)", output.Dash(c.Comm), c.TID)
			}
			names = append(names, name)
		}
		of := strings.Join(names, ", ")
		if more := len(g) - len(names); more > 0 {
			of += fmt.Sprintf(" and %d more", more)
		}
		r := alike(&g[0])
		t.Add(r.attribute, output.Dash(r.before), output.Dash(r.after), r.status, len(g), of, r.why)
	}
	return t
}

// shownNames is how many of many are named.
const shownNames = 3

// End is the error that a run ends with; err is what ended it early. A run that has changed
// something exits with Some, never with a code that says nothing was changed.
func End(r change.Outcome, err error) error {
	switch {
	case err == nil:
		return Error(r)
	case r.Changed() && exit.Code(err) != exit.Interrupted:
		return exit.With(exit.Some, err)
	}
	return err
}

// Error is the error of an outcome, nil if all was done: a summary, as each change has been
// printed.
func Error(r change.Outcome) error {
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
	codes := map[change.Verdict]int{change.Some: exit.Some, change.Failed: exit.Failed, change.NotPermitted: exit.NotPermitted}
	return exit.With(codes[verdict], errors.Join(why...))
}

// writePages prints the pages of a process that has moved, one
// {"type":"memory"} line a node.
func writePages(a *app.App, c change.Change) {
	was, _ := c.Before.(attr.MemoryValue)
	is, _ := c.After.(attr.MemoryValue)
	before, after, known := was.Pages, is.Pages, is.Pages != nil
	nodes := before.Nodes()
	if known {
		nodes = nodes.Or(after.Nodes())
	}
	var l output.Line
	for node := range nodes.All() {
		l.Start("memory").Add("pid", int(c.PID)).Add("node", int(node)).Add("pages_before", before[int(node)]).
			Known("pages_after", after[int(node)], known).Write(a) // a dry run knows the nodes only
	}
}
