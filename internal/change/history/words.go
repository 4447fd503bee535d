package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// FromTo is "0-7 → 5" when that is so of every change.
func FromTo(changes []attr.Change) string {
	if len(changes) == 0 {
		return ""
	}
	const several = "several"
	first := changes[0]
	before, after := OrNone(first.Before), OrNone(first.After)
	for _, c := range changes {
		if c.Attribute != first.Attribute {
			return several
		}
		if !c.Attribute.Alike(c.Before, first.Before) {
			before = several
		}
		if !c.Attribute.Alike(c.After, first.After) {
			after = several
		}
	}
	return before + " → " + after
}

// OrNone is a value as a sentence has it, with a word for one that is not known and for a
// list of no CPUs.
func OrNone(v attr.Value) string { return cmp.Or(attr.Text(v), "none") }

// Who names the tasks and files of some changes: "nqueens (3641)", "nqueens (3641),
// 4 threads", "3 processes (41 threads)", "irq 24 (eth0)", "3 IRQs". Names are as the
// kernel has them, not made safe to print.
func Who(changes []attr.Change) string {
	files := attr.FilesText(changes)
	tasks := slices.DeleteFunc(slices.Clone(changes), attr.Change.IsFile)
	switch {
	case len(tasks) == 0:
		return files
	case files != "":
		return whoOf(tasks) + " and " + files
	}
	return whoOf(tasks)
}

func whoOf(tasks []attr.Change) string {
	procs := Count(tasks, func(c attr.Change) kernel.TID { return c.PID })
	threads := Count(tasks, func(c attr.Change) kernel.TID { return c.TID })
	switch {
	case procs != 1 && threads == procs:
		return fmt.Sprintf("%d processes", procs)
	case procs != 1:
		return fmt.Sprintf("%d processes (%d threads)", procs, threads)
	}
	first := slices.MinFunc(tasks, func(a, b attr.Change) int { return cmp.Compare(a.TID, b.TID) })
	name := fmt.Sprintf("%s (%d)", TaskName(first, tasks), first.TID)
	switch {
	case threads > 1:
		return fmt.Sprintf("%s, %d threads", name, threads)
	case first.TID != first.PID:
		return "thread " + name
	}
	return name
}

// TaskName is the task's name; where it had ended before its name was read, that of
// another thread of its process among the changes, or words that say so.
func TaskName(c attr.Change, among []attr.Change) string {
	if name := strings.TrimSpace(c.Comm); name != "" {
		return name
	}
	for _, o := range among {
		if name := strings.TrimSpace(o.Comm); o.PID == c.PID && !o.IsFile() && name != "" {
			return name
		}
	}
	return "ended task"
}

// Count counts the different names that changes have; those whose name is zero have none.
func Count[T comparable](changes []attr.Change, name func(attr.Change) T) int {
	var none T
	seen := map[T]bool{none: true}
	for _, c := range changes {
		seen[name(c)] = true
	}
	return len(seen) - 1
}
