package changes

import (
	"fmt"
	"time"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/place"
)

// summary ends the lines about a plan that was carried out or shown.
type summary struct {
	change.Outcome
	plan   change.Plan
	dryRun bool
	code   int
}

// pages are those of a process on a node.
type pages struct {
	pid           kernel.TID
	node          int
	before, after uint64
	known         bool // after
}

// row is a change, of a table that of several threads.
type row struct {
	change.Change
	threads int
}

// ofTask and ofFile are values of one kind of change, null for the other.
func ofTask(value func(r row) any) func(row) any {
	return func(r row) any { return field.Known(value(r), !r.IsFile()) }
}

func ofFile(value func(r row) string) func(row) any {
	return func(r row) any { return field.Known(value(r), r.IsFile()) }
}

func (r row) failure() any {
	if r.Err == nil {
		return ""
	}
	return r.Err.Error()
}

// name is that of the task or of the file's object.
func (r row) name() string {
	if r.IsFile() {
		return r.Object.Object()
	}
	return r.Comm
}

// count is the number of threads, "" for a file.
func (r row) count() string {
	if r.IsFile() {
		return ""
	}
	return fmt.Sprint(r.threads)
}

// statusColumn counts the changes with a status.
func statusColumn(s attr.Status) field.Column[summary] {
	return output.Col(string(s), "", output.Int, "changes that are "+string(s), func(r summary) any { return r.Count(s) })
}

var (
	choiceList = output.NewList("change", "choice", "which CPUs were chosen, and why",
		output.Col("tid", "", output.Int, "the task that they are for", func(c place.Choice) any { return int(c.TID) }),
		output.Col("cpus", "", output.Text, "a cpulist", func(c place.Choice) any { return c.CPUs.String() }),
		output.Col("reason", "", output.Text, "why these", func(c place.Choice) any { return c.Reason }),
		output.Col("warning", "", output.Text, "what speaks against them", func(c place.Choice) any { return c.Warning }),
		output.Col("guess", "", output.Bool, "the load says little", func(c place.Choice) any { return c.Guess }))
	changeList = output.NewList("change", "change", "a change of a thread, or of a file of the kernel",
		output.Col("pid", ">PID", output.MaybeInt, "process", ofTask(func(r row) any { return int(r.PID) })),
		output.Col("tid", ">TID", output.MaybeInt, "thread", ofTask(func(r row) any { return int(r.TID) })),
		output.Col("comm", "COMM", output.MaybeText, "its name", ofTask(func(r row) any { return r.Comm })).As(row.name),
		output.TableCol(">THREADS", row.count),
		output.Col("object", "", output.MaybeText, "what the file is of: an interrupt, a queue, a setting",
			ofFile(func(r row) string { return r.Object.Object() })),
		output.Col("path", "", output.MaybeText, "the file", ofFile(func(r row) string { return r.Path })),
		output.Col("attribute", "ATTRIBUTE", output.Text, "affinity, nice, policy, ioprio, slice, uclamp, cookie, memory, irq-affinity, …",
			func(r row) any { return string(r.Attribute) }),
		output.Col("before", "BEFORE", output.Text, "the value before", func(r row) any { return attr.Text(r.Before) }),
		output.Col("after", "AFTER", output.Text, "the value read back, or planned", func(r row) any { return attr.Text(r.After) }),
		output.Col("status", "STATUS", output.Text, "planned, done, unchanged, failed or refused", func(r row) any { return string(r.Status) }),
		output.Col("error", "", output.Text, "of the kernel", row.failure),
		output.Col("reason", "REASON", output.Text, "why, in words",
			func(r row) any { return r.Reason }).As(func(r row) string { return r.Why() }))
	memoryList = output.NewList("change", "memory", "the pages of a process on a node, behind a change of memory",
		output.Col("pid", "", output.Int, "process", func(p pages) any { return int(p.pid) }),
		output.Col("node", "", output.Int, "NUMA node", func(p pages) any { return p.node }),
		output.Col("pages_before", "", output.Int, "pages there before", func(p pages) any { return p.before }),
		output.Col("pages_after", "", output.MaybeInt, "and after", func(p pages) any { return field.Known(p.after, p.known) }))
	summaryList = output.NewList("change", "summary", "how a run of changes ended",
		statusColumn(attr.Planned), statusColumn(attr.Done), statusColumn(attr.Unchanged), statusColumn(attr.Failed), statusColumn(attr.Refused),
		output.Col("processes", "", output.Int, "processes among them", func(s summary) any { return s.plan.Processes() }),
		output.Col("threads", "", output.Int, "threads", func(s summary) any { return s.plan.Threads() }),
		output.Col("files", "", output.Int, "files of the kernel", func(s summary) any { return s.plan.Files() }),
		output.Col("newborn", "", output.Int, "threads born meanwhile", func(s summary) any { return s.Newborn }),
		output.Col("dry_run", "", output.Bool, "nothing was changed, as asked", func(s summary) any { return s.dryRun }),
		output.Col("journal", "", output.MaybeInt, "entry for piton undo", func(s summary) any { return field.Known(s.Entry, s.Entry != 0) }),
		output.Col("warnings", "", output.Texts, "sentences", func(s summary) any { return field.Values(change.Texts(s.Warnings)) }),
		output.Col("exit_code", "", output.Int, "of the run", func(s summary) any { return s.code }))
	guardList = output.NewList("change", "guard", "the guard that reverts a change unless it is confirmed",
		output.Col("entry", "", output.Int, "of the journal", func(s change.GuardStatus) any { return s.Entry }),
		output.Col("guard_pid", "", output.Int, "its process", func(s change.GuardStatus) any { return s.PID }),
		output.Col("revert_after_s", "", output.Number, "time from the change on", func(s change.GuardStatus) any { return s.After.Seconds() }),
		output.Col("deadline", "", output.Text, "when it reverts",
			func(s change.GuardStatus) any { return field.Stamp(time.Now().Add(s.After)) }),
		output.Col("confirm", "", output.Text, "the command that keeps the change",
			func(s change.GuardStatus) any { return confirmCommand(s.Entry) }),
		output.Col("caveats", "", output.Texts, "what it is not protected from",
			func(s change.GuardStatus) any { return field.Values(s.Caveats) }))
)

func confirmCommand(entry uint64) string { return fmt.Sprintf("piton keep %d", entry) }
