package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/tune"
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
func (a *app) printChanges(r tune.Result, o output, dryRun bool, code int) error {
	if o.json() {
		return a.changesJSON(r, dryRun, code)
	}
	for _, w := range r.Warnings {
		a.warn("%s", w)
	}
	if o.value == asCSV {
		return changeTable(r.Changes, false).writeCSV(a.Out)
	}
	return changeTable(r.Changes, true).write(a.Out)
}

// writeChanges prints one {"type":"change"} line each.
func (a *app) writeChanges(changes []tune.Change) error {
	for _, c := range changes {
		b, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("print a change: %w", err)
		}
		if _, err := a.Out.Write(append(escapeControls(b), '\n')); err != nil {
			return err
		}
		if c.Attribute == tune.Memory {
			if err := a.writePages(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) changesJSON(r tune.Result, dryRun bool, code int) error {
	if err := a.writeChanges(r.Changes); err != nil {
		return err
	}
	var l line
	l.start("summary").add("v", Version)
	for _, s := range []tune.Status{tune.Planned, tune.Done, tune.Unchanged, tune.Failed, tune.Refused} {
		l.add(string(s), r.Count(s))
	}
	plan := tune.Plan{Changes: r.Changes}
	l.add("processes", plan.Processes()).add("threads", plan.Threads()).add("files", plan.Files()).add("newborn", r.Newborn).
		add("dry_run", dryRun).add("journal", entryOrNull(r.Entry)).addList("warnings", r.Warnings).add("exit_code", code)
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
	first   tune.Change
	threads int
}

type groupKey struct {
	pid           kernel.TID
	path          string
	attribute     tune.Attribute
	before, after string
	status        tune.Status
	reason        string
}

// changeTable lists the changes, threads of a process that read the same as one
// row when asked to.
func changeTable(changes []tune.Change, together bool) *table {
	t := newTable(">PID", ">TID", "COMM", ">THREADS", "ATTRIBUTE", "BEFORE", "AFTER", "STATUS", "REASON")
	var groups []*group
	index := map[groupKey]*group{}
	for _, c := range changes {
		key := groupKey{c.PID, c.Path, c.Attribute, c.Before, c.After, c.Status, c.Reason}
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
			t.add("-", "-", c.Object(), "-", c.Attribute, dash(c.Before), dash(c.After), c.Status, reason(c))
			continue
		}
		t.add(c.PID, c.TID, dash(c.Comm), g.threads, c.Attribute, dash(c.Before), dash(c.After), c.Status, reason(c))
	}
	return t
}

func reason(c tune.Change) string {
	if c.Reason == "" && c.Err != nil {
		return c.Err.Error()
	}
	return c.Reason
}

// resultError tells the exit code of a result; everything has been printed, so
// its text is one sentence of summary.
func resultError(r tune.Result) error {
	bad := r.Count(tune.Failed) + r.Count(tune.Refused)
	if bad == 0 {
		return nil
	}
	first, denied := tune.Change{}, 0
	for _, c := range r.Changes {
		if c.Status != tune.Failed && c.Status != tune.Refused {
			continue
		}
		if first.Status == "" {
			first = c
		}
		if errors.Is(c.Err, tune.ErrNotPermitted) || errors.Is(c.Err, tune.ErrNotSupported) {
			denied++
		}
	}
	text := fmt.Errorf("%s of %d: %s", first.Attribute, first.TID, reason(first))
	if first.Path != "" {
		text = fmt.Errorf("%s of %s: %s", first.Attribute.Title(), first.Object(), reason(first))
	}
	if bad > 1 {
		text = fmt.Errorf("%d of %d changes failed, the first: %w", bad, len(r.Changes), text)
	}
	switch {
	case bad < len(r.Changes) || r.Changed():
		return codeError{ExitSome, text}
	case denied == bad:
		return codeError{ExitNotPermitted, text}
	}
	return codeError{ExitFailed, text}
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
