package dialog

import (
	"fmt"
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/history"
	"piton/internal/field"
	"piton/internal/group"
)

// NewConfirmPlan shows a plan: what changes, what has its value already, what is
// refused and why, and its warnings. Enter means no where the user must decide first.
func NewConfirmPlan(title string, p change.Plan) *Confirm {
	c := NewConfirm(title, PlanLines(p), "apply", "cancel")
	c.onNo = p.AsksFirst()
	return c
}

// Add puts more lines below those that there are.
func (c *Confirm) Add(more []Line) *Confirm { c.lines = append(c.lines, more...); return c }

// PlanLines says in words what a plan will do.
func PlanLines(p change.Plan) []Line {
	var lines []Line
	for _, g := range alike(p.Changes, attr.Planned, func(c change.Change) string { return attr.Text(c.Before) + "\x00" + attr.Text(c.After) }) {
		c := g[0]
		lines = append(lines, Line{Loud, fmt.Sprintf("set %s of %s: %s → %s", c.Attribute.Title(), Who(g), history.OrNone(c.Before), history.OrNone(c.After))})
	}
	for _, r := range reasons(p.Requests) {
		lines = append(lines, Line{Quiet, r})
	}
	for _, g := range alike(p.Changes, attr.Unchanged, func(c change.Change) string { return attr.Text(c.After) }) {
		lines = append(lines, Line{Quiet, fmt.Sprintf("%s of %s is %s already", g[0].Attribute.Title(), Who(g), history.OrNone(g[0].After))})
	}
	for _, status := range []attr.Status{attr.Refused, attr.Failed} {
		for _, g := range alike(p.Changes, status, change.Change.Why) {
			lines = append(lines, Line{Refusal, fmt.Sprintf("not the %s of %s: %s", g[0].Attribute.Title(), Who(g), g[0].Why())})
		}
	}
	lines = append(lines, NeedLines(p.Needs)...)
	for _, w := range p.Warnings {
		lines = append(lines, Line{Warning, w.Text})
	}
	return lines
}

// NeedLines are the dangers of a plan.
func NeedLines(needs []change.Need) []Line {
	var lines []Line
	for _, n := range needs {
		l := Line{Warning, n.Text}
		if n.Danger.AskFirst() {
			l.Tone = Refusal
		}
		lines = append(lines, l)
	}
	return lines
}

func reasons(requests []change.Request) []string {
	var out []string
	for _, r := range requests {
		if r.Reason != "" && !slices.Contains(out, r.Reason) {
			out = append(out, r.Reason)
		}
	}
	return out
}

// alike splits the changes of a status by attribute and key.
func alike(changes []change.Change, status attr.Status, key func(change.Change) string) [][]change.Change {
	of := slices.DeleteFunc(slices.Clone(changes), func(c change.Change) bool { return c.Status != status })
	return group.By(of, func(c *change.Change) string { return string(c.Attribute) + "\x00" + key(*c) })
}

// Who is history.Who, safe to print.
func Who(changes []change.Change) string { return field.Clean(history.Who(changes)) }
