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
	for _, c := range choices {
		if o.JSON() {
			choiceList.JSON(a, c)
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
		summaryList.JSON(a, summary{r, change.Plan{Changes: r.Changes}, o.DryRun, code})
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
		Write(a, r.Changes, o.Output, true)
	}
}

// WriteJSON prints one {"type":"change"} line each, with the pages of memory that moved.
func WriteJSON(a *app.App, changes []change.Change) {
	for i := range changes {
		changeList.JSON(a, row{Change: changes[i]})
		if changes[i].Attribute == attr.Memory {
			writePages(a, changes[i])
		}
	}
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

// Write lists the changes; in a table, threads of a process that read the same as one row when
// asked to.
func Write(a *app.App, changes []change.Change, o output.Format, together bool) {
	groups := slices.Collect(slices.Chunk(changes, 1))
	if together && o.Value == output.AsTable {
		groups = group.By(changes, func(c *change.Change) reading {
			if c.IsFile() {
				return readingOf(c, c.Path)
			}
			return readingOf(c, c.PID)
		})
	}
	rows := make([]row, len(groups))
	for i, g := range groups {
		rows[i] = row{g[0], len(g)}
	}
	changeList.Write(a, rows, o)
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
	for node := range nodes.All() {
		memoryList.JSON(a, pages{c.PID, int(node), before[int(node)], after[int(node)], known}) // a dry run knows the nodes only
	}
}
