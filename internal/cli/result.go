package cli

import (
	"errors"
	"fmt"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/place"
)

// printChoices says which CPUs were chosen and why.
func (a *app) printChoices(choices []place.Choice, o output) error {
	var l line
	for _, c := range choices {
		if o.json() {
			l.start("choice").add("tid", int(c.TID)).add("cpus", c.CPUs.String()).add("reason", c.Reason).
				add("warning", c.Warning).add("guess", c.Guess)
			if err := l.write(a.Out); err != nil {
				return err
			}
			continue
		}
		if c.Warning != "" {
			a.warn("%d: %s", c.TID, c.Warning)
		}
		if c.Reason != "" {
			a.warn("%d: %s", c.TID, c.Reason)
		}
	}
	return nil
}

// printChanges prints changes, and the summary in JSON. The exit code is the
// run's as far as is known.
func (a *app) printChanges(r change.Outcome, o applyOptions, code int) error {
	if o.output.json() {
		return a.changesJSON(r, o.dryRun, code)
	}
	for _, w := range r.Warnings {
		a.warn("%s", w.Text)
	}
	if o.output.value == asCSV {
		return changeTable(r.Changes, false).writeCSV(a.Out)
	}
	return changeTable(r.Changes, true).write(a.Out)
}

// writeChanges prints one {"type":"change"} line each.
func (a *app) writeChanges(changes []change.Change) error {
	var l line
	for _, c := range changes {
		if err := l.change(c).write(a.Out); err != nil {
			return err
		}
		if c.Attribute == attr.Memory {
			if err := a.writePages(c); err != nil {
				return err
			}
		}
	}
	return nil
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

func (a *app) changesJSON(r change.Outcome, dryRun bool, code int) error {
	if err := a.writeChanges(r.Changes); err != nil {
		return err
	}
	var l line
	l.start("summary").add("v", Version)
	for _, s := range []attr.Status{attr.Planned, attr.Done, attr.Unchanged, attr.Failed, attr.Refused} {
		l.add(string(s), r.Count(s))
	}
	plan := change.Plan{Changes: r.Changes}
	l.add("processes", plan.Processes()).add("threads", plan.Threads()).add("files", plan.Files()).add("newborn", r.Newborn).
		add("dry_run", dryRun).add("journal", entryOrNull(r.Entry)).addList("warnings", change.Texts(r.Warnings)).add("exit_code", code)
	return l.write(a.Out)
}

func entryOrNull(id uint64) any {
	if id == 0 {
		return nil
	}
	return id
}

// group is changes of one process's threads that read the same.
type group struct {
	first   change.Change
	threads int
}

type groupKey struct {
	pid           kernel.TID
	path          string
	attribute     attr.Attribute
	before, after string
	status        attr.Status
	reason        string
}

// changeTable lists the changes, threads of a process that read the same as one
// row when asked to.
func changeTable(changes []change.Change, together bool) *table {
	t := newTable(">PID", ">TID", "COMM", ">THREADS", "ATTRIBUTE", "BEFORE", "AFTER", "STATUS", "REASON")
	var groups []*group
	index := map[groupKey]*group{}
	for _, c := range changes {
		key := groupKey{c.PID, c.Path, c.Attribute, attr.Text(c.Before), attr.Text(c.After), c.Status, c.Reason}
		if g := index[key]; g != nil && together {
			g.threads++
			continue
		}
		g := &group{c, 1}
		index[key] = g
		groups = append(groups, g)
	}
	for _, g := range groups {
		c := g.first
		if c.Path != "" { // of the kernel, each a row of its own
			t.add("-", "-", c.Object.Object(), "-", c.Attribute, dash(attr.Text(c.Before)), dash(attr.Text(c.After)), c.Status, c.Why())
			continue
		}
		t.add(c.PID, c.TID, dash(c.Comm), g.threads, c.Attribute, dash(attr.Text(c.Before)), dash(attr.Text(c.After)), c.Status, c.Why())
	}
	return t
}

// ended is the end of a run, with what cut it short: where something was changed it
// does not exit as if nothing had been.
func ended(r change.Outcome, err error) error {
	switch {
	case err == nil:
		return outcomeError(r)
	case r.Changed() && exitCode(err) != ExitInterrupted:
		return codeError{ExitSome, err}
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
	return codeError{map[change.Verdict]int{change.Some: ExitSome, change.Failed: ExitFailed, change.NotPermitted: ExitNotPermitted}[verdict], errors.Join(why...)}
}

// escapeControls escapes DEL and the C1 control characters in JSON text, which
// encoding/json leaves as they are and some terminals obey.
func escapeControls(b []byte) []byte {
	if !strings.ContainsFunc(string(b), isHidden) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if isHidden(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = append(out, string(r)...)
	}
	return out
}

func isHidden(r rune) bool { return r >= 0x7f && r < 0xa0 }
