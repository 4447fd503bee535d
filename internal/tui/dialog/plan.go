package dialog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// verbs say what is about to happen to each attribute.
var verbs = map[tune.Attribute]string{
	tune.Affinity: "affinity", tune.Nice: "nice value", tune.Policy: "policy", tune.IOPrio: "I/O priority",
}

func verb(a tune.Attribute) string {
	if v, ok := verbs[a]; ok {
		return v
	}
	return a.Title()
}

// orNone is a value, or the word for a list of no CPUs.
func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// NewConfirmPlan shows a plan: what changes, what has its value already, what is
// refused and why, and its warnings. Without anything to change it says so. Enter
// means no where the plan asks for an explicit yes.
func NewConfirmPlan(p tune.Plan) *Confirm {
	c := NewConfirm("Apply?", PlanLines(p), "apply", "cancel")
	c.nothing = !slices.ContainsFunc(p.Changes, func(ch tune.Change) bool { return ch.Status == tune.Planned })
	if c.nothing {
		c.title = "Nothing to change"
	}
	c.onNo = p.NeedsYes != ""
	return c
}

// Titled asks what the title says.
func (c *Confirm) Titled(title string) *Confirm { c.title = title; return c }

// Add puts more lines below those that there are.
func (c *Confirm) Add(more []Line) *Confirm { c.lines = append(c.lines, more...); return c }

// PlanLines says in words what a plan will do.
func PlanLines(p tune.Plan) []Line {
	var lines []Line
	for _, g := range group(p.Changes, tune.Planned, func(c tune.Change) string { return c.Before + "\x00" + c.After }) {
		c := g[0]
		lines = append(lines, Line{Loud, fmt.Sprintf("set %s of %s: %s → %s",
			verb(c.Attribute), Who(g), orNone(c.Before), orNone(c.After))})
	}
	for _, r := range reasons(p.Requests) {
		lines = append(lines, Line{Quiet, r})
	}
	for _, g := range group(p.Changes, tune.Unchanged, func(c tune.Change) string { return c.After }) {
		lines = append(lines, Line{Quiet, fmt.Sprintf("%s of %s is %s already", verb(g[0].Attribute), Who(g), orNone(g[0].After))})
	}
	for _, status := range []tune.Status{tune.Refused, tune.Failed} {
		for _, g := range group(p.Changes, status, why) {
			lines = append(lines, Line{Refusal, fmt.Sprintf("not the %s of %s: %s", verb(g[0].Attribute), Who(g), why(g[0]))})
		}
	}
	if p.NeedsYes != "" {
		lines = append(lines, Line{Refusal, p.NeedsYes})
	}
	for _, w := range p.Warnings {
		lines = append(lines, Line{Warning, w})
	}
	return lines
}

// reasons are the requests' reasons, each once.
func reasons(requests []tune.Request) []string {
	var out []string
	for _, r := range requests {
		if r.Reason != "" && !slices.Contains(out, r.Reason) {
			out = append(out, r.Reason)
		}
	}
	return out
}

func why(c tune.Change) string {
	if c.Reason == "" && c.Err != nil {
		return c.Err.Error()
	}
	return c.Reason
}

// group splits the changes of a status by attribute and key, in order of first
// appearance.
func group(changes []tune.Change, status tune.Status, key func(tune.Change) string) [][]tune.Change {
	var out [][]tune.Change
	index := map[string]int{}
	for _, c := range changes {
		if c.Status != status {
			continue
		}
		k := string(c.Attribute) + "\x00" + key(c)
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// Who names the tasks and files of some changes: "nqueens (3641)", "nqueens (3641),
// 4 threads", "3 processes (41 threads)", "irq 24 (eth0)", "3 IRQs".
func Who(changes []tune.Change) string {
	files := field.Clean(tune.FilesText(changes))
	tasks := slices.DeleteFunc(slices.Clone(changes), func(c tune.Change) bool { return c.Path != "" })
	switch {
	case len(tasks) == 0:
		return files
	case files != "":
		return who(tasks) + " and " + files
	}
	return who(tasks)
}

func who(changes []tune.Change) string {
	procs, threads := map[kernel.TID]bool{}, map[kernel.TID]bool{}
	for _, c := range changes {
		procs[c.PID], threads[c.TID] = true, true
	}
	if len(procs) != 1 && len(threads) == len(procs) {
		return fmt.Sprintf("%d processes", len(procs))
	}
	if len(procs) != 1 {
		return fmt.Sprintf("%d processes (%s)", len(procs), plural(len(threads), "thread"))
	}
	first := slices.MinFunc(changes, func(a, b tune.Change) int { return cmp.Compare(a.TID, b.TID) })
	name := fmt.Sprintf("%s (%d)", field.Clean(strings.TrimSpace(first.Comm)), first.TID)
	switch {
	case len(threads) > 1:
		return fmt.Sprintf("%s, %s", name, plural(len(threads), "thread"))
	case first.TID != first.PID:
		return "thread " + name
	}
	return name
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
